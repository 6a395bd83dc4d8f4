"""disk_log.py -- the log of disk_shim.c, and the states that may be on disk when the power goes.

What is promised of a disk, and no more:

  - a file's content is what was written before a sync of it began that has ended; of what was written since, any part
    may be there: none, all, some of it from the beginning, torn at a sector, or pages of it as zeros or as they were
  - a name in a folder (a new file, a rename, an unlink) is there for good when the folder was synced after it. Of
    those that were not, the first few of each folder are there; or, where any order is asked for, each by itself, but
    for those that build upon another. A rename is whole or not at all.

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
    """Content that is safe, and what was done since."""

    def __init__(self, content=b""):
        self.safe = bytearray(content)
        self.open_ops = []  # (offset, data) or (length, None): a truncate
        self.dropped = 0  # how many are in safe

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
        """A content that may be there: (bytes, whether there are holes in it)."""
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
            # Up to a border of sectors on the disk, or to any byte.
            sector = rng.choice(SECTORS + (1,))
            end = (offset + rng.randrange(len(data) + 1)) // sector * sector
            if end > offset:
                apply(content, (offset, data[:end - offset]))
        return bytes(content), False

    def with_holes(self, rng):
        """The whole length, or some of it, but pages of what was not synced are missing."""
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
    """Fed with records one after another; state() draws what may be there if the power goes now."""

    def __init__(self, root, any_order=False):
        """ROOT as it is now is on disk for good. any_order: of the names of one folder a later change may be there
        without an earlier one, which file systems with a journal do not do."""
        self.root, self.any_order = root, any_order
        self.names = {}  # path: File, or None for a folder; those that are there for good
        self.files = {}  # inode: File
        # Of names, not safe yet: (number, paths it changes, their folders, the folder whose sync it needs, what).
        self.changes = []
        self.count = 0  # of all changes that there ever were
        self.begun = {}  # (process, sync, inode): what it covers
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
        """The changes before number UPTO are safe if they are of this folder, with all that they build upon."""
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
            until[where] = 0  # in order, nothing of this folder comes any more
        return names

    def state(self, rng):
        """A state that may be on disk: ({path: bytes, or None for a folder}, paths of files with holes, and of those
        that have less than was written)."""
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
    """Write a state of ROOT into FOLDER."""
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
