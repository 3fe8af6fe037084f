/* The sandbox's options and parts; sandbox.h combines the parts. */
#ifndef CAIRN_SERVER_SANDBOX_PARTS_H
#define CAIRN_SERVER_SANDBOX_PARTS_H

#include "base/status.h"

#include <stddef.h>

enum sandbox_mode {
	SANDBOX_AUTO, /* use the parts that the kernel has */
	SANDBOX_ON,   /* use all parts, or fail */
	SANDBOX_OFF,
};

struct sandbox_options {
	enum sandbox_mode mode;
	const char *data_dir;        /* read and written; must exist */
	const char *const *readable; /* readable files and folders, even if replaced later; may have NULL */
	size_t n_readable;
	const uint16_t *ports; /* ports of the other machines that have objects and index */
	size_t n_ports;
	bool by_socket; /* the daemon also connects to Unix sockets; without ports, only to these */
};

/** Enters Landlock. @return 0, or an errno */
int sandbox_files(const struct sandbox_options *options);

/** Enters seccomp, which also refuses memory that is writable and executable. @return 0, or an errno */
int sandbox_calls(const struct sandbox_options *options);

#endif
