// Command fairlead is the whole product: agent, lab and the tools for people.
package main

func main() {}
