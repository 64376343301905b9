// The workload of large values: it puts and removes a few entries of 1 MiB and more, and shrinks the store between.

import EspalierEngine
import TestSupport

extension Workload {
    /// Puts two large values one after the other, removes the first, and shrinks the store, which moves the second one
    /// to the front; the seed decides the size of the cache.
    mutating func moveLargeValue(_ database: Database) throws(StorageError) {
        try commit(database) { workload, write throws(StorageError) in
            try workload.putLarge(LargeValues.largest(1), for: 0, &write)
            try workload.putLarge(LargeValues.largest(2), for: 1, &write)
        }
        try commit(database) { workload, write throws(StorageError) in
            try workload.removeLarge(0, &write)
            try write.shrink(movingAtMost: 1 << 20)
        }
    }

    /// Puts or removes a large value, or shrinks the store.
    mutating func changeLarge(_ write: inout WriteTransaction) throws(StorageError) {
        let number = UInt64.random(in: 0..<3, using: &chance)
        switch Int.random(in: 0..<6, using: &chance) {
        case 0, 1: try removeLarge(number, &write)
        case 2, 3: try write.shrink(movingAtMost: Int.random(in: 1...1500, using: &chance))
        default: try putLarge(LargeValues.value(&chance), for: number, &write)
        }
    }

    private mutating func putLarge(
        _ value: [UInt8], for number: UInt64, _ write: inout WriteTransaction
    ) throws(StorageError) {
        try write.put(value, for: number, in: try write.tree(named: "films", orCreate: UInt64.self))
        content["films", default: [:]][Self.bytes(of: number)] = value
    }

    private mutating func removeLarge(_ number: UInt64, _ write: inout WriteTransaction) throws(StorageError) {
        try write.remove(number, from: try write.tree(named: "films", orCreate: UInt64.self))
        content["films", default: [:]][Self.bytes(of: number)] = nil
    }

    private mutating func commit(
        _ database: Database, _ body: (inout Workload, inout WriteTransaction) throws(StorageError) -> Void
    ) throws(StorageError) {
        var write = try database.beginWrite()
        try body(&self, &write)
        let number = write.transactionID
        oracle.willCommit(number, content)
        try write.commit(.durable)
        oracle.isDurable(number)
    }
}
