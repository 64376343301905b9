// The part of a workload that rolls back to savepoints and removes ranges of entries.

import EspalierEngine
import TestSupport

extension Workload {
    /// Makes changes and savepoints; rolls back to some savepoints, once or repeatedly, and releases others.
    mutating func goBackAndForth(_ write: inout WriteTransaction, _ size: Int) throws(StorageError) {
        var stack: [(savepoint: Savepoint, content: StoreContent)] = []
        for _ in 0..<4 {
            stack.append((try write.savepoint(), content))
            for _ in 0..<Int.random(in: 0...size, using: &chance) { try change(&write) }
            let place = Int.random(in: 0..<stack.count, using: &chance)
            switch Int.random(in: 0..<4, using: &chance) {
            case 0:
                try write.release(stack[place].savepoint)
                stack.removeSubrange(place...)
            case 1: break
            default:
                content = stack[place].content
                try write.rollback(to: stack[place].savepoint)
                stack.removeSubrange((place + 1)...)
            }
        }
    }

    /// Removes the entries of a range of 3, 30 or 300 numbers from `number` on.
    mutating func removeRange(_ number: UInt64, _ tree: AnyTree, _ write: inout WriteTransaction) throws(StorageError) {
        let count = UInt64([3, 30, 300].randomElement(using: &chance) ?? 3)
        let name = tree.name
        let (low, high): ([UInt8], [UInt8])
        switch tree.kind {
        case .integer: (low, high) = (Self.bytes(of: number), Self.bytes(of: number + count))
        case .bytes: (low, high) = ([UInt8]("song \(number)".utf8), [UInt8]("song \(number + count)".utf8))
        }
        let removed = try write.removeAll(KeyRange(from: .including(low), to: .excluding(high)), from: tree)
        let gone = (content[name] ?? [:]).keys.filter { key in
            !key.lexicographicallyPrecedes(low) && key.lexicographicallyPrecedes(high)
        }
        precondition(removed == UInt64(gone.count), "removing a range answered \(removed)")
        for key in gone { content[name]?[key] = nil }
    }
}
