package capture

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// filter lets through what came in as ARP or as neighbour discovery, and none
// of what the switch itself sends out of its ports.
func filter() ([]bpf.RawInstruction, error) {
	const reject, accept = 10, 11
	return bpf.Assemble([]bpf.Instruction{
		0:  bpf.LoadExtension{Num: bpf.ExtType},
		1:  jump(unix.PACKET_OUTGOING, 1, reject, 2),
		2:  bpf.LoadAbsolute{Off: 12, Size: 2},
		3:  jump(unix.ETH_P_ARP, 3, accept, 4),
		4:  jump(unix.ETH_P_IPV6, 4, 5, reject),
		5:  bpf.LoadAbsolute{Off: etherLen + 6, Size: 1},
		6:  jump(unix.IPPROTO_ICMPV6, 6, 7, reject),
		7:  bpf.LoadAbsolute{Off: etherLen + ip6Len, Size: 1},
		8:  jump(icmp6Solicitation, 8, accept, 9),
		9:  jump(icmp6Advertisement, 9, accept, reject),
		10: bpf.RetConstant{Val: 0},
		11: bpf.RetConstant{Val: snapLen},
	})
}

// jump at position at goes to one position if the loaded value is v, else to
// the other.
func jump(v uint32, at, yes, no int) bpf.Instruction {
	return bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(yes - at - 1), SkipFalse: uint8(no - at - 1)}
}
