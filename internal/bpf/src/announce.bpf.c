// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Socket filters for the announcer's AF_PACKET sockets: one for ARP, one for
 * neighbour discovery. They let through what somebody in user space has to look
 * at (a question about a VIP, a claim to a VIP) and count everything else by
 * reason, so that a loud segment wakes nobody.
 *
 * They are a sieve and not a parser: what they let through is parsed again,
 * with all the checks of the RFCs, in user space. A frame that the sieve can't
 * read can't be about a VIP and stops here.
 *
 * The sockets are bound to one EtherType each (ETH_P_ARP, ETH_P_IPV6), so the
 * type is not looked at. Offsets count from the Ethernet header: a SOCK_RAW
 * socket has it pushed back before the filter runs. The kernel has moved a
 * VLAN tag out of the frame by then, and a frame whose VLAN is nobody's on this
 * interface comes as PACKET_OTHERHOST.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define PACKET_OTHERHOST 3 /* linux/if_packet.h */

#define ARP_REQUEST 1
#define IPPROTO_ICMPV6 58
#define NEIGHBOUR_SOLICITATION 135
#define NEIGHBOUR_ADVERTISEMENT 136

/* Why a frame did not reach user space. */
enum ignored {
	IGNORED_OTHER_HOST,    /* for another station, or another VLAN */
	IGNORED_MALFORMED,     /* not readable as far as the addresses */
	IGNORED_NOT_REQUEST,   /* an answer, and not about a VIP */
	IGNORED_NOT_NDP,       /* IPv6, and neither solicitation nor advertisement */
	IGNORED_NOT_ANNOUNCED, /* a question about an address that is no VIP */
	IGNORED_MAX,
};

/* What user space wants to hear about an address, or-ed together. */
enum interest {
	INTEREST_ANSWER = 1, /* questions */
	INTEREST_WATCH = 2,  /* claims and probes of others */
};

/* An address in network byte order; IPv4 as ::ffff:a.b.c.d. */
struct vip {
	__u8 addr[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct vip);
	__type(value, enum interest);
} vips SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IGNORED_MAX);
	__type(key, enum ignored);
	__type(value, __u64);
} ignored SEC(".maps");

/* The part of an Ethernet/IPv4 ARP frame that has a meaning (RFC 826). */
struct arp_frame {
	struct ethhdr eth;
	__be16 htype, ptype;
	__u8 hlen, plen;
	__be16 op;
	__u8 sha[ETH_ALEN], spa[4];
	__u8 tha[ETH_ALEN], tpa[4];
} __attribute__((packed));

/* The fixed part of a neighbour discovery message (RFC 8200, RFC 4861). */
struct ndp_frame {
	struct ethhdr eth;
	__u8 version_class_flow[4];
	__be16 payload_length;
	__u8 next_header, hop_limit;
	__u8 src[16], dst[16];
	__u8 type, code;
	__be16 checksum;
	__be32 flags;
	__u8 target[16];
} __attribute__((packed));

static __always_inline int ignore(enum ignored why)
{
	__u64 *n = bpf_map_lookup_elem(&ignored, &why);

	if (n)
		*n += 1;
	return 0;
}

static __always_inline int pass(struct __sk_buff *skb)
{
	return skb->len;
}

static __always_inline __u32 interest(const struct vip *vip)
{
	enum interest *flags = bpf_map_lookup_elem(&vips, vip);

	return flags ? *flags : 0;
}

static __always_inline __u32 interest4(const __u8 *addr)
{
	struct vip vip = {};

	vip.addr[10] = vip.addr[11] = 0xff;
	__builtin_memcpy(vip.addr + 12, addr, 4);
	return interest(&vip);
}

static __always_inline __u32 interest6(const __u8 *addr)
{
	struct vip vip;

	__builtin_memcpy(vip.addr, addr, 16);
	return interest(&vip);
}

SEC("socket")
int arp(struct __sk_buff *skb)
{
	struct arp_frame f;
	__u32 target;

	if (skb->pkt_type == PACKET_OTHERHOST)
		return ignore(IGNORED_OTHER_HOST);
	if (bpf_skb_load_bytes(skb, 0, &f, sizeof(f)))
		return ignore(IGNORED_MALFORMED);
	if (f.htype != bpf_htons(1) || f.ptype != bpf_htons(ETH_P_IP) || f.hlen != ETH_ALEN || f.plen != 4)
		return ignore(IGNORED_MALFORMED);

	/* Who sends as a VIP claims it, whatever the message is. */
	if (interest4(f.spa) & INTEREST_WATCH)
		return pass(skb);
	if (f.op != bpf_htons(ARP_REQUEST))
		return ignore(IGNORED_NOT_REQUEST);

	target = interest4(f.tpa);
	if (target & INTEREST_ANSWER)
		return pass(skb);
	/* A probe (RFC 5227 §1.1): somebody is about to take the address. */
	if (target & INTEREST_WATCH && !(f.spa[0] | f.spa[1] | f.spa[2] | f.spa[3]))
		return pass(skb);
	return ignore(IGNORED_NOT_ANNOUNCED);
}

static __always_inline int unspecified(const __u8 *addr)
{
	__u8 any = 0;

	for (int i = 0; i < 16; i++)
		any |= addr[i];
	return !any;
}

SEC("socket")
int ndp(struct __sk_buff *skb)
{
	struct ndp_frame f;
	__u8 next_header, type;
	__u32 target;

	/* All IPv6 traffic of the interface comes by here: look at one byte
	 * before copying a whole header. */
	if (bpf_skb_load_bytes(skb, offsetof(struct ndp_frame, next_header), &next_header, 1))
		return ignore(IGNORED_MALFORMED);
	if (next_header != IPPROTO_ICMPV6)
		return ignore(IGNORED_NOT_NDP);
	if (bpf_skb_load_bytes(skb, offsetof(struct ndp_frame, type), &type, 1))
		return ignore(IGNORED_MALFORMED);
	if (type != NEIGHBOUR_SOLICITATION && type != NEIGHBOUR_ADVERTISEMENT)
		return ignore(IGNORED_NOT_NDP);
	if (skb->pkt_type == PACKET_OTHERHOST)
		return ignore(IGNORED_OTHER_HOST);
	if (bpf_skb_load_bytes(skb, 0, &f, sizeof(f)))
		return ignore(IGNORED_MALFORMED);

	target = interest6(f.target);
	if (type == NEIGHBOUR_ADVERTISEMENT)
		return target & INTEREST_WATCH ? pass(skb) : ignore(IGNORED_NOT_REQUEST);
	if (target & INTEREST_ANSWER)
		return pass(skb);
	/* Duplicate address detection of somebody else (RFC 4862 §5.4). */
	if (target & INTEREST_WATCH && unspecified(f.src))
		return pass(skb);
	/* Who asks as a VIP claims it. */
	if (interest6(f.src) & INTEREST_WATCH)
		return pass(skb);
	return ignore(IGNORED_NOT_ANNOUNCED);
}

char _license[] SEC("license") = "Dual BSD/GPL";
