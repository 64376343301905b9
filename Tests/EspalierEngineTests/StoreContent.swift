// The whole content of a store, for comparison with another store's.

import EspalierEngine

/// The entries of each tree, by its name.
typealias StoreContent = [String: [[UInt8]: [UInt8]]]

extension Database {
    /// The content of the newest commit.
    func content() throws(StorageError) -> StoreContent {
        let read = try beginRead()
        var content: StoreContent = [:]
        for summary in try read.trees() {
            var rows: [[UInt8]: [UInt8]] = [:]
            var cursor = try read.cursor(over: summary.tree)
            while try cursor.next() {
                rows[try cursor.withKey { $0.loadBytes(at: 0, count: $0.byteCount) }] = try cursor.value()
            }
            content[summary.tree.name] = rows
        }
        return content
    }
}
