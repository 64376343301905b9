// The controls of `bench --growth`: what plain Swift costs on as many objects, without the library.

import BenchKit
import Foundation

/// An object of about the size of a managed object.
private final class PlainObject: Hashable {
    let number: Int
    var values: (Int, Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0, 0)

    init(_ number: Int) { self.number = number }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    static func == (left: PlainObject, right: PlainObject) -> Bool { left === right }
}

extension GrowthCases {
    static let controls: [GrowthCase] = [
        control("a set of all objects", .tables) { objects in blackHole(Set(objects).count) },
        control("objects into a dictionary by number, one by one", .tables) { objects in
            var byNumber: [Int: PlainObject] = [:]
            for object in objects { byNumber[object.number] = object }
            blackHole(byNumber.count)
        },
        control("a new object for each", .objects) { objects in
            blackHole(objects.map { PlainObject($0.number) }.count)
        },
        control("a visit of each, in random order", .objects) { objects in
            var generator = SystemRandomNumberGenerator()
            var sum = 0
            for object in objects.shuffled(using: &generator) { sum &+= object.number }
            blackHole(sum)
        },
        rowsOfAll, writeBesideAll,
    ]

    /// The number of bytes that a paper takes in its store.
    private static let byteCountOfPaper = 340

    /// The control of an operation that reads all rows: a number out of each row, in memory that holds all of them.
    private static var rowsOfAll: GrowthCase {
        var result = GrowthCase(
            "control: a number out of each row", 1, reason: "plain Swift, for comparison", work: .rows
        ) { store in
            let rows = [UInt8](repeating: 1, count: byteCountOfPaper * store.count)
            return {
                var sum = 0
                for start in stride(from: 0, to: rows.count, by: byteCountOfPaper) {
                    // As many cache lines as the head, the offsets and the field of a row are in.
                    for line in 0..<3 { sum &+= Int(rows[start + 64 * line]) }
                }
                blackHole(sum)
            }
        }
        result.isControl = true
        return result
    }

    /// The control of an operation on one object: a write of some pages and its sync, after other memory was used, in a
    /// file that is as large as a store of all.
    private static var writeBesideAll: GrowthCase {
        var result = GrowthCase(
            "control: a write to a file and its sync", 0, reason: "no library, for comparison", work: .file, once: true
        ) { store in
            let objects = (0..<store.count).map(PlainObject.init)
            let path = store.folder.path + "/control"
            try Data(count: byteCountOfPaper * store.count).write(to: URL(fileURLWithPath: path))
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            try file.synchronize()
            blackHole(Set(objects).count)
            return {
                for page in 0..<8 {
                    try file.seek(toOffset: UInt64(40 * store.count * page))
                    try file.write(contentsOf: Data(count: 4096))
                }
                try file.synchronize()
                blackHole(objects[objects.count / 2].number)
                try file.close()
            }
        }
        result.isControl = true
        return result
    }

    private static func control(
        _ name: String, _ work: GrowthCase.Work, _ body: @escaping @Sendable ([PlainObject]) -> Void
    ) -> GrowthCase {
        var result = GrowthCase("control: \(name)", 1, reason: "plain Swift, for comparison", work: work) { store in
            let objects = (0..<store.count).map(PlainObject.init)
            return { body(objects) }
        }
        result.isControl = true
        return result
    }
}
