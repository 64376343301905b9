// allocations: counts the allocations, retains and releases of a read from the cache, per operation.
//
//   swift run -c release --package-path Benchmarks allocations
//
// Fails if a cached read through `withValue` costs any of them (A9), or if a cursor's step costs more than its share of
// entering a leaf, which is one retain per leaf. `get` copies the value into an array, so it allocates that one array.
// Debug builds count more, because they are not optimized.

import EspalierEngine
import Glibc

@main
struct Allocations {
    static let operationCount: UInt64 = 10_000

    static func main() throws {
        let database = try Database.inMemory()
        let (integers, names) = try fill(database)
        try database.checkpoint(.full)
        let read = try database.beginRead()
        let key = Array("key 4711".utf8)
        var sum = 0
        var isClean = true

        isClean =
            try measure("withValue, integer key", limit: 0) { number throws(StorageError) in
                _ = try read.withValue(of: number, in: integers) { sum &+= $0.byteCount }
            } && isClean
        isClean =
            try measure("withValue, bytes key", limit: 0) { _ throws(StorageError) in
                _ = try read.withValue(of: key.span.bytes, in: names) { sum &+= $0.byteCount }
            } && isClean
        var cursor = try read.cursor(over: integers)
        isClean =
            try measure("cursor: next, withValue", limit: 0.1) { _ throws(StorageError) in
                if try cursor.next() { try cursor.withValue { sum &+= $0.byteCount } }
            } && isClean
        isClean =
            try measure("get, integer key", limit: 2) { number throws(StorageError) in
                sum &+= try read.get(number, from: integers)?.count ?? 0
            } && isClean
        print("bytes seen: \(sum)")
        if !isClean { exit(1) }
    }

    static func fill(_ database: Database) throws -> (integers: Tree<UInt64>, names: Tree<[UInt8]>) {
        var write = try database.beginWrite()
        let integers = try write.createTree(named: "a tree of integer keys", keys: UInt64.self)
        let names = try write.createTree(named: "a tree of bytes keys", keys: [UInt8].self)
        for number in 0..<operationCount {
            let value = [UInt8](repeating: UInt8(number % 256), count: 100)
            try write.put(value, for: number, in: integers)
            try write.put(value, for: Array("key \(number)".utf8), in: names)
        }
        try write.commit()
        return (integers, names)
    }

    /// Runs `body` for each number twice, so that everything is in memory the second time, and prints the costs of the
    /// second time; returns whether none of them is more than `limit` per operation.
    static func measure(
        _ name: String, limit: Double, _ body: (UInt64) throws(StorageError) -> Void
    ) throws(StorageError) -> Bool {
        let count = operationCount / 2
        for number in 0..<count { try body(number) }
        let counted = try counting { () throws(StorageError) in
            for number in 0..<count { try body(number) }
        }
        guard let counted else {
            print("this Swift runtime has no instrumentation hooks")
            exit(2)
        }
        let all = [counted.allocations, counted.objects, counted.retains, counted.releases]
        let costs = all.map { Double($0) / Double(count) }
        print(
            "\(name): \(costs[0]) allocations (\(costs[1]) objects), \(costs[2]) retains, \(costs[3]) releases",
            "per operation")
        return costs.allSatisfy { $0 <= limit }
    }
}
