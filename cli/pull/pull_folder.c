#include "cli/pull/pull_folder.h"

#include "base/fd.h"
#include "base/sys.h"
#include "cli/common/cli.h"
#include "cli/common/input.h"
#include "cli/common/manifest.h"
#include "cli/common/report.h"
#include "cli/pull/pull_target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder_counts {
	uint64_t files, fetched, other, bytes; /* other: files with different content, which were not replaced */
};

static enum cairn_status folder_fail(struct cairn_diag *diag, const char *what, const char *name)
{
	(void)cairn_fail(diag, CAIRN_E_CONFLICT, "file.target", CAIRN_NO_OFFSET, "cannot %s %.120s: %s", what, name,
			 strerror(errno));
	return CAIRN_E_CONFLICT;
}

static enum cairn_status folder_read_manifest(struct manifest *out, const char *path, struct cairn_diag *diag)
{
	CLEANUP(input_fini) struct input in = {0};
	enum cairn_status status = input_open(&in, path, diag);
	if (status != CAIRN_OK)
		return status;
	if (in.len > MANIFEST_BYTES_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "manifest.size", CAIRN_NO_OFFSET, "is longer than a manifest");
	return manifest_read(out, in.bytes, in.len, diag);
}

/* Opens a folder below dir_fd, creating it if it is missing. Follows no symbolic link. Takes dir_fd over. */
static enum cairn_status folder_enter(int *dir_fd, const char *name, struct cairn_diag *diag)
{
	if (cairn_sys_mkdirat(*dir_fd, name, 0777) != 0 && errno != EEXIST)
		return folder_fail(diag, "make the folder", name);
	int next = cairn_sys_openat(*dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (next < 0)
		return folder_fail(diag, "enter the folder", name);
	cairn_fd_closep(dir_fd);
	*dir_fd = next;
	return CAIRN_OK;
}

/* Opens the folder of a file in the manifest, and returns the file's name in it. Cuts path into its parts. */
static enum cairn_status folder_of_file(int root_fd, char *path, int *dir_fd, const char **name,
					struct cairn_diag *diag)
{
	*dir_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	if (*dir_fd < 0)
		return folder_fail(diag, "open the folder", ".");
	char *slash;
	while ((slash = strchr(path, '/'))) {
		*slash = '\0';
		enum cairn_status status = folder_enter(dir_fd, path, diag);
		if (status != CAIRN_OK)
			return status;
		path = slash + 1;
	}
	*name = path;
	return CAIRN_OK;
}

/* Does the file exist and agree with the manifest? Only permissions are corrected. */
static bool folder_has(const struct pull_job *job, const struct manifest_file *file)
{
	struct stat st;
	CLEANUP(cairn_fd_closep) int fd = pull_target_find(job, file->sha256);
	return fd >= 0 && cairn_sys_fstat(fd, &st) == 0 &&
	       ((st.st_mode & 0777U) == file->mode || cairn_sys_fchmod(fd, (mode_t)file->mode) == 0);
}

static enum cairn_status folder_pull_file(struct pull_crew *crew, int root_fd, const struct manifest_file *file,
					  bool force, struct folder_counts *counts, struct cairn_diag *diag)
{
	CLEANUP(cairn_fd_closep) int dir_fd = -1;
	struct pull_job job = {.file = file->hash,
			       .file_bytes = file->size_bytes,
			       .end = file->size_bytes,
			       .force = force,
			       .has_mode = true,
			       .mode = file->mode};
	char *path = strdup(file->path);
	if (!path)
		return CAIRN_E_NOMEM;
	enum cairn_status status = folder_of_file(root_fd, path, &dir_fd, &job.name, diag);
	job.dir_fd = dir_fd;
	if (status == CAIRN_OK && folder_has(&job, file)) {
		crew->done_bytes += file->size_bytes;
		progress_draw(&crew->progress, crew->done_bytes, crew->fetched_bytes);
	} else if (status == CAIRN_OK) {
		status = pull_file(crew, &job, diag);
		counts->fetched += status == CAIRN_OK;
	}
	counts->files++;
	counts->bytes += file->size_bytes;
	free(path);
	return status;
}

static int folder_report(const struct folder_counts *counts, const struct pull_crew *crew, const char *folder,
			 bool json)
{
	struct report r;
	char sizes[2][REPORT_SIZE_BYTES];
	report_init(&r, json);
	if (json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "path", folder);
		cairn_json_put_u64(&r.json, "files", counts->files);
		cairn_json_put_u64(&r.json, "fetched_files", counts->fetched);
		cairn_json_put_u64(&r.json, "kept_files", counts->files - counts->fetched - counts->other);
		cairn_json_put_u64(&r.json, "other_files", counts->other);
		cairn_json_put_u64(&r.json, "bytes", counts->bytes);
		cairn_json_put_u64(&r.json, "fetched_bytes", crew->fetched_bytes);
		cairn_json_close(&r.json);
	} else {
		cli_line("%s: %" PRIu64 " files, %s; %" PRIu64 " files fetched with %s, %" PRIu64 " kept", folder,
			 counts->files, report_size(sizes[0], counts->bytes), counts->fetched,
			 report_size(sizes[1], crew->fetched_bytes), counts->files - counts->fetched - counts->other);
	}
	return report_end(&r, counts->other > 0 ? CLI_EXIT_CANT_CREATE : CLI_EXIT_OK);
}

static enum cairn_status folder_open(const char *folder, int *fd, struct cairn_diag *diag)
{
	if (cairn_sys_mkdir(folder, 0777) != 0 && errno != EEXIST)
		return folder_fail(diag, "make the folder", folder);
	*fd = cairn_sys_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return *fd < 0 ? folder_fail(diag, "open the folder", folder) : CAIRN_OK;
}

/* Pulls the files in order. Reports and keeps files with different content. Any other failure ends the pull. */
static enum cairn_status folder_pull_files(struct pull_crew *crew, int root_fd, const struct manifest *m, bool force,
					   struct folder_counts *counts, const char **subject, struct cairn_diag *diag)
{
	for (size_t i = 0; i < m->n; i++) {
		struct cairn_diag why = {0};
		*subject = m->files[i].path;
		crew->progress.name = *subject;
		enum cairn_status status = folder_pull_file(crew, root_fd, &m->files[i], force, counts, &why);
		if (status == CAIRN_E_CONFLICT && cairn_diag_has(&why, "file.exists")) {
			progress_clear(&crew->progress);
			(void)cli_fail(*subject, status, &why);
			counts->other++;
		} else if (status != CAIRN_OK) {
			*diag = why;
			return status;
		}
	}
	return CAIRN_OK;
}

int pull_folder(struct pull_crew *crew, const char *path, const char *folder, const struct pull_folder_options *options)
{
	CLEANUP(manifest_fini) struct manifest m = {0};
	CLEANUP(cairn_fd_closep) int root_fd = -1;
	struct folder_counts counts = {0};
	struct cairn_diag diag = {0};
	const char *subject = path;
	uint64_t total_bytes = 0;
	enum cairn_status status = folder_read_manifest(&m, path, &diag);
	if (status == CAIRN_OK) {
		subject = folder;
		status = folder_open(folder, &root_fd, &diag);
	}
	for (size_t i = 0; i < m.n; i++)
		total_bytes += m.files[i].size_bytes;
	progress_init(&crew->progress, !options->quiet, total_bytes, "fetched");
	if (status == CAIRN_OK)
		status = folder_pull_files(crew, root_fd, &m, options->force, &counts, &subject, &diag);
	subject = status == CAIRN_OK ? folder : subject;
	/* A single sync for all new folders, and for complete files of an earlier pull that was killed. */
	if (status == CAIRN_OK && cairn_sys_syncfs(root_fd) < 0)
		status = folder_fail(&diag, "make durable", folder);
	progress_clear(&crew->progress);
	return status == CAIRN_OK ? folder_report(&counts, crew, folder, options->json)
				  : cli_fail(subject, status, &diag);
}
