// The rights to a file: its owner, its group, and what these and others may do with it. A new file with content of a
// store gets the rights of the store: the same users may read and write it, and nobody else.
//
// Invariants
//   1. The permissions are nine bits: no file of a store runs as a program with the rights of its owner.

/// The owner, the group and the permissions of a file.
package struct FileRights: Sendable {
    /// The number of the user who owns the file.
    package let owner: UInt32
    /// The number of the group of the file.
    package let group: UInt32
    /// The permissions of the owner, the group and others: nine bits.
    package let permissions: UInt16

    package init(owner: UInt32, group: UInt32, permissions: UInt16) {
        assert(permissions & ~0o777 == 0, "permissions \(permissions)")
        (self.owner, self.group, self.permissions) = (owner, group, permissions)
    }

    /// These rights, but the owner may also read and write the file.
    package var writableByOwner: FileRights {
        FileRights(owner: owner, group: group, permissions: permissions | 0o600)
    }
}
