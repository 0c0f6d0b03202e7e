package agent

// startDraining asks every election to hand over.
func (a *Agent) startDraining() {
	a.draining = true
	a.log.Info("draining: handing over", "vips", a.ownedVIPs())
	for _, s := range a.segments {
		s.machine.SetSelf(a.now(), a.selfRefusal(s))
		s.dirty = true
	}
}

// drained reports whether nothing is left that somebody could take over.
func (a *Agent) drained() bool {
	for _, s := range a.segments {
		if !s.machine.Drained() {
			return false
		}
	}
	return true
}

// ownedVIPs counts the VIPs that this node owns on all its segments.
func (a *Agent) ownedVIPs() int {
	n := 0
	for _, s := range a.segments {
		n += s.owned()
	}
	return n
}
