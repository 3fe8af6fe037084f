/* Names in the file of a backup, for the code that writes and reads it. */
#ifndef CAIRN_BACKUP_BACKUP_FORMAT_H
#define CAIRN_BACKUP_BACKUP_FORMAT_H

#define BACKUP_KIND    "cairn.backup" /* metadata: kind */
#define BACKUP_VERSION 1
#define BACKUP_STORE   "store"  /* metadata: the store's identity */
#define BACKUP_TIME    "moment" /* metadata, only of a moment in a folder: the time in its name */

/* Kinds of archives in a folder (backup_set.h). */
#define BACKUP_KIND_OBJECTS "cairn.backup.objects"
#define BACKUP_KIND_MOMENT  "cairn.backup.moment"

/* Chunks: the beginnings of their names, and their types. */
#define BACKUP_OBJECTS       "objects/"
#define BACKUP_OBJECTS_CTYPE "XORB"
#define BACKUP_INDEX         "index/"
#define BACKUP_INDEX_CTYPE   "SQLT"
#define BACKUP_CATALOG       "catalog"
#define BACKUP_CATALOG_CTYPE "CTLG"
#define BACKUP_SECRET        "secret"
#define BACKUP_SECRET_CTYPE  "KEYS"

enum { BACKUP_NAME_BYTES = 32, BACKUP_PATH_BYTES = 4200 };

#endif
