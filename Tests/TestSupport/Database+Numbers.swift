// The simplest content of a store: numbers, one in each transaction.

package import EspalierEngine

extension Database {
    /// Commits `number`.
    package func append(_ number: UInt64, _ durability: Durability? = nil) throws(StorageError) {
        var write = try beginWrite()
        let tree = try write.tree(named: "numbers", orCreate: UInt64.self)
        try write.put([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 100), for: number, in: tree)
        try write.commit(durability)
    }

    /// The committed numbers, in ascending order.
    package func numbers() throws(StorageError) -> [UInt64] {
        let read = try beginRead()
        guard let tree = try read.tree(named: "numbers", keys: UInt64.self) else { return [] }
        var cursor = try read.cursor(over: tree)
        var found: [UInt64] = []
        var isOnEntry = try cursor.first()
        while isOnEntry {
            found.append(try cursor.key)
            isOnEntry = try cursor.next()
        }
        return found
    }
}
