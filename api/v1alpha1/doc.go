// Package v1alpha1 holds the API objects of Fairlead: what an administrator
// writes (AddressPool, Announcement) and what Fairlead reports (VIP). The group
// is fairlead.dev, every kind is cluster-scoped. The package has no logic: the
// meaning of the values is in the conversion to the model, package convert.
package v1alpha1
