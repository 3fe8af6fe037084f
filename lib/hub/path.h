/* Checks paths of files in buckets and git-like repositories. Pure. */
#ifndef CAIRN_HUB_PATH_H
#define CAIRN_HUB_PATH_H

enum { CAIRN_HUB_NAME_BYTES_MAX = 255 /* bytes of a name between slashes, as in file systems */ };

/** Returns why a text is not a path. Faults are: "", "." or ".." between slashes; a slash at an end; a control
 * character; bytes that are not UTF-8; more than CAIRN_INDEX_PATH_MAX bytes; and "..\" at the start, which Windows
 * treats as the folder above.
 * @return the fault, for people; NULL: the path is valid */
const char *cairn_hub_path_fault(const char *path);

/** Checks the path of a new file: as cairn_hub_path_fault(), and refuses names that are too long for file systems and
 * paths that leave a folder on Windows ("C:/x", "D:x", "\\host\x", "a\..\x"). Clients on every system refuse a whole
 * snapshot with such a path. Existing files with such paths may be read and deleted.
 * @return as cairn_hub_path_fault() */
const char *cairn_hub_new_path_fault(const char *path);

/** Checks the path of a new file of a git-like repository: as cairn_hub_new_path_fault(), and refuses ".git" between
 * slashes, in any case, and names that file systems treat as the same ("git~1", ".git. ", with a backslash for a
 * slash, with characters that macOS ignores). Clients write the files to a folder, where git would run commands that
 * such a file names. The rule is git's own (verify_path() with core.protectNTFS and core.protectHFS).
 * @return as cairn_hub_path_fault() */
const char *cairn_hub_file_fault(const char *path);

#endif
