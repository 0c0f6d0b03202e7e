package proxy

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/lab/netns"
)

const (
	tableName = "lab-proxy"

	// reg is the first of nftables' 4-byte registers (NFT_REG32_00).
	reg = 8
	// ctStatusDNAT is IPS_DST_NAT in the byte order of the machine.
	ctStatusDNAT = 1 << 5
	// batch bounds the elements of one netlink attribute, which holds 64 KiB.
	batch = 400
)

// family is what differs between the two address families.
type family struct {
	is4     bool
	table   nftables.TableFamily
	addr    nftables.SetDatatype
	daddr   uint32 // offset of the destination address in the network header
	nfproto uint32
}

// families are IPv4 and IPv6.
func families() []family {
	return []family{
		{true, nftables.TableFamilyIPv4, nftables.TypeIPAddr, 16, unix.NFPROTO_IPV4},
		{false, nftables.TableFamilyIPv6, nftables.TypeIP6Addr, 24, unix.NFPROTO_IPV6},
	}
}

// Apply makes a namespace serve exactly these frontends. Connections that were
// translated before keep their endpoint.
func Apply(ns *netns.Namespace, frontends []Frontend) error {
	conn, err := nftables.New(nftables.WithNetNSFd(ns.FD()))
	if err != nil {
		return fmt.Errorf("open nftables in %s: %w", ns.Name(), err)
	}
	for _, f := range families() {
		if err := f.queue(conn, makePlan(frontends, f.is4)); err != nil {
			return fmt.Errorf("plan service proxy in %s: %w", ns.Name(), err)
		}
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("program service proxy in %s: %w", ns.Name(), err)
	}
	return nil
}

// queue adds the family's table to the connection's transaction, in place of
// the one that may be there.
func (f family) queue(conn *nftables.Conn, p plan) error {
	table := &nftables.Table{Name: tableName, Family: f.table}
	// Deleting a table that isn't there would fail the transaction.
	conn.AddTable(table)
	conn.DelTable(table)
	conn.AddTable(table)

	services, err := f.servicesMap(table)
	if err != nil {
		return err
	}
	endpoints, err := f.endpointsMap(table)
	if err != nil {
		return err
	}
	if err := addMap(conn, services, f.serviceElements(p)); err != nil {
		return err
	}
	if err := addMap(conn, endpoints, f.endpointElements(p)); err != nil {
		return err
	}

	pre := conn.AddChain(&nftables.Chain{
		Name: "prerouting", Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityNATDest,
	})
	post := conn.AddChain(&nftables.Chain{
		Name: "postrouting", Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookPostrouting, Priority: nftables.ChainPriorityNATSource,
	})
	conn.AddRule(&nftables.Rule{Table: table, Chain: pre, Exprs: f.translate(services, endpoints)})
	conn.AddRule(&nftables.Rule{Table: table, Chain: post, Exprs: masqueradeTranslated()})
	return nil
}

// words is how many registers an address takes.
func (f family) words() uint32 { return f.addr.Bytes / 4 }

// translate is, in nft's language:
//
//	dnat to numgen random mod 60 . (daddr . l4proto . dport map @services) map @endpoints
func (f family) translate(services, endpoints *nftables.Set) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: reg, Base: expr.PayloadBaseNetworkHeader, Offset: f.daddr, Len: f.addr.Bytes},
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: reg + f.words()},
		&expr.Payload{DestRegister: reg + f.words() + 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Lookup{SourceRegister: reg, DestRegister: reg, IsDestRegSet: true, SetID: services.ID, SetName: services.Name},
		&expr.Numgen{Register: reg + 1, Modulus: slots, Type: unix.NFT_NG_RANDOM},
		&expr.Lookup{SourceRegister: reg, DestRegister: reg, IsDestRegSet: true, SetID: endpoints.ID, SetName: endpoints.Name},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: f.nfproto, RegAddrMin: reg, RegProtoMin: reg + f.words(), Specified: true},
	}
}

// masqueradeTranslated is `ct status dnat masquerade`: only what this table
// translated, as nothing else in the lab translates destinations.
func masqueradeTranslated() []expr.Any {
	return []expr.Any{
		&expr.Ct{Key: expr.CtKeySTATUS, Register: 1},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: host32(ctStatusDNAT), Xor: host32(0)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: host32(0)},
		&expr.Masq{},
	}
}

// servicesMap is address . protocol . port : group.
func (f family) servicesMap(table *nftables.Table) (*nftables.Set, error) {
	key, err := nftables.ConcatSetType(f.addr, nftables.TypeInetProto, nftables.TypeInetService)
	if err != nil {
		return nil, err
	}
	return &nftables.Set{
		Table: table, ID: 1, Name: "services", IsMap: true, Concatenation: true,
		KeyType: key, DataType: nftables.TypeMark,
	}, nil
}

// endpointsMap is group . slot : address . port.
func (f family) endpointsMap(table *nftables.Table) (*nftables.Set, error) {
	key, err := nftables.ConcatSetType(nftables.TypeMark, nftables.TypeMark)
	if err != nil {
		return nil, err
	}
	data, err := nftables.ConcatSetType(f.addr, nftables.TypeInetService)
	if err != nil {
		return nil, err
	}
	return &nftables.Set{
		Table: table, ID: 2, Name: "endpoints", IsMap: true, Concatenation: true,
		KeyType: key, DataType: data,
	}, nil
}

func (f family) serviceElements(p plan) []nftables.SetElement {
	elements := make([]nftables.SetElement, 0, len(p.frontends))
	for _, fe := range p.frontends {
		key := fe.addr.Addr().AsSlice()
		key = append(key, byte(fe.protocol), 0, 0, 0)
		elements = append(elements, nftables.SetElement{Key: append(key, port(fe.addr)...), Val: host32(fe.group)})
	}
	return elements
}

func (f family) endpointElements(p plan) []nftables.SetElement {
	var elements []nftables.SetElement
	for id := range p.groups {
		for row := range slots {
			e := p.slot(uint32(id), row)
			elements = append(elements, nftables.SetElement{
				Key: append(host32(uint32(id)), host32(uint32(row))...),
				Val: append(e.Addr().AsSlice(), port(e)...),
			})
		}
	}
	return elements
}

func addMap(conn *nftables.Conn, m *nftables.Set, elements []nftables.SetElement) error {
	if err := conn.AddSet(m, nil); err != nil {
		return err
	}
	for len(elements) > 0 {
		n := min(batch, len(elements))
		if err := conn.SetAddElements(m, elements[:n]); err != nil {
			return err
		}
		elements = elements[n:]
	}
	return nil
}

// port returns a port as nftables keeps it: network order, padded to a register.
func port(a netip.AddrPort) []byte {
	return append(binary.BigEndian.AppendUint16(nil, a.Port()), 0, 0)
}

func host32(v uint32) []byte { return binaryutil.NativeEndian.PutUint32(v) }

// Probe programs a service proxy in the current network namespace, to see
// whether the kernel can.
func Probe() error {
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("open nftables: %w", err)
	}
	for _, f := range families() {
		if err := f.queue(conn, makePlan(nil, f.is4)); err != nil {
			return fmt.Errorf("plan service proxy: %w", err)
		}
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("program service proxy: %w", err)
	}
	return nil
}
