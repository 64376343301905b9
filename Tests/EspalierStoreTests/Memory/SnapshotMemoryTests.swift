// The memory of many snapshots of a store in memory, with a small save between any two: what was changed, and not a
// copy of the store for each.
//
// The test runs in its own process (an exit test), because it measures the memory of a process.

import EspalierModel
import EspalierStore
import Foundation
import Testing

@Suite struct SnapshotMemoryTests {
    private static let rowCount = 20_000
    private static let saveCount = 400
    /// The bytes by which the peak may grow: a tenth of what a table of all rows takes for each save, with 32 bytes for
    /// a row.
    private static let allowance = rowCount * 32 * saveCount / 10

    /// The peak of this process's resident memory in bytes.
    private static func peakByteCount() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }) << 10
    }

    static func measure() throws {
        let fixture = try StoreFixture(.memory)
        var request = SaveRequest()
        for number in 0..<rowCount {
            request.insertions.append(try fixture.insertion("Book", ["isbn": .string("\(number)")]))
        }
        let ids = try fixture.store.save(request).inserted.map(\.id)
        let before = try peakByteCount()
        var snapshots: [any StoreSnapshot] = []
        for number in 0..<saveCount {
            snapshots.append(try fixture.store.snapshot())
            try fixture.change(ids[number * 31 % rowCount], ["isbn": .string("new \(number)")])
        }

        let grown = try peakByteCount() - before
        print("\(saveCount) snapshots: \(grown >> 10) KiB more memory, \(allowance >> 10) KiB are allowed")
        #expect(grown < allowance)
        for number in [0, 1, saveCount / 2, saveCount - 1] {
            let id = ids[number * 31 % rowCount]
            let slot = try #require(try fixture.entity("Book").attribute(named: "isbn")).slot
            let former = try #require(try snapshots[number].snapshots(of: [id])[0]?.value(at: slot))
            #expect(former == .string("\(number * 31 % rowCount)"))
            #expect(try fixture.value(id, "isbn") == .string("new \(number)"))
        }
    }

    @Test func `snapshots with a save between any two share what the save has not changed`() async throws {
        await #expect(processExitsWith: .success) { try SnapshotMemoryTests.measure() }
    }
}
