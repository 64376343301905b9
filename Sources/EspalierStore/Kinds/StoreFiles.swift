// The files of a kind of store, as far as they are used without a store: to read their metadata, and to remove them.
//
// Invariants
//   1. A kind that an application registers has no such uses: only the application knows what its stores consist of.

internal import Synchronization

/// The uses of the files of one kind of store (PS-03, PS-05).
package struct StoreFiles: Sendable {
    /// Files with trees, which are recognized by not being of another kind: their own errors say what they lack.
    fileprivate static let trees = StoreFiles(
        isBeginning: { _ in false },
        metadata: { path throws(StoreError) in try BTreeStore.metadata(ofStoreAt: path) },
        remove: { path throws(StoreError) in try BTreeStore.destroy(at: path) })

    /// Whether a file that begins with these bytes is one of the kind.
    let isBeginning: @Sendable ([UInt8]) -> Bool
    /// The metadata of the file at a path.
    let metadata: @Sendable (String) throws(StoreError) -> StoreMetadata
    /// Removes the file at a path.
    let remove: @Sendable (String) throws(StoreError) -> Void
}

extension StoreFiles {
    /// Files that each hold a whole store.
    ///
    /// - Parameters:
    ///   - isBeginning: whether bytes are the first ones of such a file.
    ///   - metadata: the metadata in all bytes of a file.
    package init(
        whole isBeginning: @escaping @Sendable ([UInt8]) -> Bool,
        metadata: @escaping @Sendable ([UInt8]) throws(StoreError) -> StoreMetadata
    ) {
        self.init(
            isBeginning: isBeginning,
            metadata: { path throws(StoreError) in
                try StoreError.withPath(path) { () throws(StoreError) in
                    try metadata(try GraphFile.bytes(ofFileAt: path))
                }
            },
            remove: { path throws(StoreError) in try GraphFile.remove(at: path, ifBytesBegin: isBeginning) })
    }
}

extension StoreType {
    /// Guards the uses of files by kind.
    private static let files = Mutex<[StoreType: StoreFiles]>([
        .btree: .trees,
        .binary: StoreFiles(
            whole: { BinaryGraphFormat.isBeginning($0) },
            metadata: { bytes throws(StoreError) in try BinaryGraphFormat().metadata(in: bytes) }),
    ])

    /// Registers the uses of the kind's files, besides the code that opens its stores.
    package func register(_ files: StoreFiles) { Self.files.withLock { $0[self] = files } }

    /// Whether `removeFile(at:)` can remove a store of the kind; one in memory has no file.
    package var isRemovable: Bool { self == .inMemory || Self.files.withLock { $0[self] != nil } }

    /// Removes the file of a store, with its log if there is one (PS-03).
    ///
    /// - Throws: `.unknownStoreType` if the kind's files cannot be removed, as those of an application; `.storage`,
    ///   also for a missing file; `.malformedFile` for a file of another kind, which stays.
    package func removeFile(at path: String) throws(StoreError) {
        guard let files = Self.files.withLock({ $0[self] }) else { throw .unknownStoreType(self) }
        try files.remove(path)
    }

    /// The metadata of the file at a path, of whatever kind it is (PS-05).
    ///
    /// - Throws: the errors of its kind; those of a B-tree file if it is of none.
    package static func metadata(ofFileAt path: String) throws(StoreError) -> StoreMetadata {
        // A file that cannot be read has the error of the kind that reads it.
        let beginning = (try? GraphFile.bytes(ofFileAt: path, atMost: GraphFile.beginningByteCount)) ?? []
        let kinds = files.withLock { $0 }
        let found = kinds.values.first { $0.isBeginning(beginning) }
        return try (found ?? .trees).metadata(path)
    }
}
