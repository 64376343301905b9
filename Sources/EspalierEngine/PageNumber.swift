// Page numbers: the address of a page in a store file.
//
// Invariants
//   1. Page 0 is the superblock; no tree, bitmap or overflow page ever has number 0, so 0 means "none" on disk.
//   2. Page n begins at byte n x pageSize of the store file.

/// The number of a page in a store file: 0 is the superblock, and means "no page" where a page refers to another.
public typealias PageNumber = UInt32
