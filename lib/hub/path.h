/* Paths of objects and of files in repositories. Pure. */
#ifndef CAIRN_HUB_PATH_H
#define CAIRN_HUB_PATH_H

enum { CAIRN_HUB_NAME_BYTES_MAX = 255 /* of a name between slashes, as file systems have it */ };

/** Why text is no path of an object: "" and "." and ".." between slashes, a slash at an end, a control character, what
 * is no UTF-8, or more than CAIRN_INDEX_PATH_MAX bytes; "..\" at the start, too, which Windows takes for the folder
 * above.
 *  @return for a person; NULL: it is one */
const char *cairn_hub_path_fault(const char *path);

/** The same of a path that is not there yet: also a name that is too long for file systems, and what leads out of a
 * folder on Windows ("C:/x", "D:x", "\\host\x", "a\..\x"). Clients refuse a whole snapshot that has such a name, on
 * every system. What is there may be read and deleted.
 *  @return likewise */
const char *cairn_hub_new_path_fault(const char *path);

/** The same of a file that comes into a git-like repository: also ".git" between slashes, in any case, and what file
 * systems take for it ("git~1", ".git. ", with a backslash for a slash, with characters that macOS does not see).
 * Clients write a repository's files to a folder, where git would run commands that such a file names. Git's own rule
 * (verify_path() with core.protectNTFS and core.protectHFS).
 *  @return likewise */
const char *cairn_hub_file_fault(const char *path);

#endif
