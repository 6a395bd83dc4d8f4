"""disk_log.py -- reads the log of disk_shim.c, and generates the states that may be on disk after a loss of power.

A disk guarantees only this:

  - a file has the bytes written before a completed sync of it began; of later writes any part may be present: none,
    all, a prefix, torn at a sector, or with pages of zeros or old contents
  - a change of a name in a folder (a new file, a rename, an unlink) is durable once the folder was synced after it. Of
    other changes, the first few of each folder are present; or, if any order is requested, each independently, except
    those that depend on another. A rename is atomic.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import struct

HEAD = struct.Struct("<IHHHHiQQqq")
OPEN, WRITE, SYNC_BEGIN, SYNC_END, RENAME, UNLINK, TRUNCATE, MKDIR, LINK = range(1, 10)
O_TRUNC = os.O_TRUNC
SECTORS = (512, 4096)


class Record:
    __slots__ = ("op", "is_folder", "pid", "time", "inode", "offset", "existed", "path", "other", "data")

    def __repr__(self):
        names = ["", "open", "write", "sync begins", "synced", "rename", "unlink", "truncate", "mkdir", "link"]
        path = self.path + (" to " + self.other if self.other else "")
        return "%s %s inode %d at %d, %d bytes" % (names[self.op], path, self.inode, self.offset, len(self.data))


def read_log(path):
    with open(path, "rb") as file:
        raw = file.read()
    records, at = [], 0
    while at + HEAD.size <= len(raw):
        size, op, first, second, is_folder, pid, when, inode, offset, existed = HEAD.unpack_from(raw, at)
        if at + size > len(raw):
            break
        r = Record()
        r.op, r.is_folder, r.pid, r.time = op, is_folder, pid, when
        r.inode, r.offset, r.existed = inode, offset, existed
        middle = at + HEAD.size
        r.path = raw[middle:middle + first].decode()
        r.other = raw[middle + first:middle + first + second].decode()
        r.data = raw[middle + first + second:at + size]
        records.append(r)
        at += size
    return records


class File:
    """Durable contents, and later operations."""

    def __init__(self, content=b""):
        self.safe = bytearray(content)
        self.open_ops = []  # (offset, data) of a write, or (length, None) of a truncate
        self.dropped = 0  # number of operations in `safe`

    def sync(self, upto):
        count = max(0, upto - self.dropped)
        for op in self.open_ops[:count]:
            apply(self.safe, op)
        del self.open_ops[:count]
        self.dropped += count

    def whole(self):
        content = bytearray(self.safe)
        for op in self.open_ops:
            apply(content, op)
        return content

    def sample(self, rng, way):
        """Returns contents that may be on disk: (bytes, whether they have holes)."""
        if way == "none" or not self.open_ops:
            return bytes(self.safe), False
        if way == "all":
            return bytes(self.whole()), False
        if way == "holes":
            return self.with_holes(rng)
        content = bytearray(self.safe)
        count = rng.randrange(len(self.open_ops))
        for op in self.open_ops[:count]:
            apply(content, op)
        offset, data = self.open_ops[count]
        if data is not None and rng.random() < 0.8:
            # Ends at a boundary of sectors on the disk, or at any byte.
            sector = rng.choice(SECTORS + (1,))
            end = (offset + rng.randrange(len(data) + 1)) // sector * sector
            if end > offset:
                apply(content, (offset, data[:end - offset]))
        return bytes(content), False

    def with_holes(self, rng):
        """Returns the whole length or a part, with unsynced pages missing."""
        content, before = self.whole(), self.safe
        sector = rng.choice(SECTORS)
        pages = sorted({page for offset, data in self.open_ops if data for page in
                        range(offset // sector, (offset + len(data) - 1) // sector + 1)})
        if rng.random() < 0.5 and len(content) > len(before):
            del content[rng.randrange(len(before), len(content)):]
        holes = False
        chance = rng.choice((0.2, 0.5, 1.0))
        for page in pages:
            if rng.random() >= chance:
                continue
            begin, end = page * sector, min((page + 1) * sector, len(content))
            for at in range(begin, end):
                old = before[at] if at < len(before) else 0
                holes = holes or content[at] != old
                content[at] = old
        return bytes(content), holes


def apply(content, op):
    offset, data = op
    if data is None:
        if offset < len(content):
            del content[offset:]
        else:
            content.extend(b"\0" * (offset - len(content)))
        return
    if offset > len(content):
        content.extend(b"\0" * (offset - len(content)))
    content[offset:offset + len(data)] = data


class Disk:
    """Gets records one after another; state() draws a state that may be on disk if the power fails now."""

    def __init__(self, root, any_order=False):
        """Starts with the present ROOT as durable. any_order: a later change of a name in a folder may be present
        without an earlier one, which does not happen in file systems with a journal."""
        self.root, self.any_order = root, any_order
        self.names = {}  # path: File, or None for a folder; durable names
        self.files = {}  # inode: File
        # Changes of names that are not durable yet: (number, paths it changes, their folders, the folder whose sync it
        # needs, kind).
        self.changes = []
        self.count = 0  # of all changes so far
        self.begun = {}  # (process, sync, inode): the operations that it covers
        for base, folders, names in os.walk(root):
            for name in folders:
                self.names[os.path.join(base, name)] = None
            for name in names:
                path = os.path.join(base, name)
                with open(path, "rb") as file:
                    self.names[path] = File(file.read())
                self.files[os.stat(path).st_ino] = self.names[path]

    def feed(self, r):
        if r.op == OPEN and not r.is_folder:
            if not r.existed:
                self.files[r.inode] = File()
                self.change([r.path], ("make", r.path, self.files[r.inode]))
            elif r.offset & O_TRUNC and r.inode in self.files:
                self.files[r.inode].open_ops.append((0, None))
        elif r.op == WRITE and r.inode in self.files:
            self.files[r.inode].open_ops.append((r.offset, r.data))
        elif r.op == TRUNCATE and r.inode in self.files:
            self.files[r.inode].open_ops.append((r.offset, None))
        elif r.op == MKDIR:
            self.change([r.path], ("make", r.path, None))
        elif r.op == RENAME:
            self.change([r.path, r.other], ("rename", r.path, r.other))
        elif r.op == LINK:
            self.change([r.path, r.other], ("link", r.path, r.other))
        elif r.op == UNLINK:
            self.change([r.path], ("unlink", r.path, None))
        elif r.op == SYNC_BEGIN:
            file = self.files.get(r.inode)
            covers = self.count if r.is_folder else len(file.open_ops) + file.dropped if file else 0
            self.begun[(r.pid, r.offset, r.inode)] = covers
        elif r.op == SYNC_END:
            covers = self.begun.pop((r.pid, r.offset, r.inode), None)
            if covers is None:
                return
            if r.is_folder:
                self.folder_synced(r.path, covers)
            elif r.inode in self.files:
                self.files[r.inode].sync(covers)

    def change(self, paths, what):
        folders = {os.path.dirname(path) for path in paths}
        self.changes.append((self.count, set(paths), folders, os.path.dirname(paths[-1]), what))
        self.count += 1

    def folder_synced(self, folder, upto):
        """Makes the changes of this folder before number UPTO durable, with all that they depend on."""
        wanted, kept, built_on = [], [], set()
        for change in reversed(self.changes):
            number, paths, folders, where, _ = change
            if number < upto and (where == folder or paths & built_on):
                wanted.append(change)
                built_on |= paths | folders
            else:
                kept.append(change)
        for change in reversed(wanted):
            change_names(self.names, change[-1])
        self.changes = kept[::-1]

    def draw_names(self, rng):
        names = dict(self.names)
        way = rng.choice(("all", "none", "first", "some" if self.any_order else "first"))
        until = {}
        for _, _, _, where, _ in self.changes:
            until[where] = until.get(where, 0) + 1
        until = {where: rng.randrange(count + 1) for where, count in until.items()}
        missing = set()
        for _, paths, folders, where, what in self.changes:
            until[where] -= 1
            takes = {"all": True, "none": False, "first": until[where] >= 0, "some": rng.random() < 0.5}[way]
            if takes and not paths & missing and not folders & missing:
                change_names(names, what)
                continue
            missing |= paths
            until[where] = 0  # in order: no later change of this folder is present
        return names

    def state(self, rng):
        """Returns a state that may be on disk: ({path: bytes, or None for a folder}, paths of files with holes, paths
        of files with less than was written)."""
        out, holes, less = {}, set(), set()
        overall = rng.choice(("none", "all", "cut", "mixed", "mixed", "holes"))
        for path, file in self.draw_names(rng).items():
            if file is None:
                out[path] = None
                continue
            way = rng.choice(("none", "all", "cut", "holes")) if overall == "mixed" else overall
            out[path], torn = file.sample(rng, way)
            if torn:
                holes.add(path)
            if file.open_ops and out[path] != file.whole():
                less.add(path)
        return out, holes, less


def change_names(names, what):
    kind, path, other = what
    if kind == "make":
        names[path] = other
    elif kind == "unlink":
        names.pop(path, None)
    elif path in names:
        names[other] = names.pop(path) if kind == "rename" else names[path]


def put(state, root, folder):
    """Writes a state of ROOT into FOLDER."""
    os.makedirs(folder)
    for path in sorted(state):
        target = os.path.join(folder, os.path.relpath(path, root))
        if state[path] is None:
            os.makedirs(target, exist_ok=True)
    for path, content in state.items():
        if content is None:
            continue
        target = os.path.join(folder, os.path.relpath(path, root))
        if os.path.isdir(os.path.dirname(target)):
            with open(target, "wb") as file:
                file.write(content)
