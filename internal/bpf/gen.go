package bpf

//go:generate -command compile go tool bpf2go -target bpfel -cc clang-19 -strip llvm-strip-19 -cflags "-O2 -g -Wall -Werror -mcpu=v3 -nostdinc -Iheaders"
//go:generate compile Announce src/announce.bpf.c
