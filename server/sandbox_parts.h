/* What the sandbox is asked for, and its parts; sandbox.h puts them together. */
#ifndef CAIRN_SERVER_SANDBOX_PARTS_H
#define CAIRN_SERVER_SANDBOX_PARTS_H

#include "base/status.h"

#include <stddef.h>

enum sandbox_mode {
	SANDBOX_AUTO, /* what the kernel has */
	SANDBOX_ON,   /* all of it, or not at all */
	SANDBOX_OFF,
};

struct sandbox_options {
	enum sandbox_mode mode;
	const char *data_dir;        /* read, written; must be there */
	const char *const *readable; /* files and folders that are read, also again after they were replaced; NULL ones
					are passed over */
	size_t n_readable;
	const uint16_t *ports; /* of the other machines that objects and index are on */
	size_t n_ports;
	bool by_socket; /* connections to sockets of the file system are made, too; without ports none else */
};

/** Landlock. @return 0, or what errno says */
int sandbox_files(const struct sandbox_options *options);

/** seccomp; of memory it refuses what is writable and executable, too. @return likewise */
int sandbox_calls(const struct sandbox_options *options);

#endif
