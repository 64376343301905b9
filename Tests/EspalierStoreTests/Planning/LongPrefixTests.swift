// Ranges after a fixed value that is as long as an index entry can be, or longer: entries end before the range begins.

import EspalierModel
import EspalierStore
import Testing

@Suite struct LongPrefixTests {
    @Test(arguments: [1, 508, 509, 510, 600], [true, false])
    func `a range after a long fixed value has the rows that a store without index has`(
        _ length: Int, _ isAscending: Bool
    ) throws {
        func fixture(_ indexes: [EntityDescription.Index]) throws -> StoreFixture {
            let item = EntityDescription(
                "Item",
                attributes: [AttributeDescription("text", .string), AttributeDescription("number", .integer64)],
                indexes: indexes)
            return try StoreFixture(.treeInFile, ManagedObjectModel(entities: [item]))
        }
        let stores = [
            try fixture([.init("i", on: [.init("text"), .init("number", isAscending: isAscending)])]),
            try fixture([]),
        ]
        let text = String(repeating: "x", count: length)
        var found: [[[Int]]] = []
        for store in stores {
            var ids: [ObjectID] = []
            for number in 0..<40 {
                let own = number % 2 == 0 ? text : text + "y"
                ids.append(
                    try store.insert("Item", ["text": .string(own), "number": .integer(Int64(number / 2))]))
            }
            let conditions = ["< 5", "<= 5", "> 15", ">= 15", "BETWEEN {5, 8}", "== 7", "!= nil"]
            found.append(
                try conditions.map { condition in
                    try store.find("Item", "text == '\(text)' AND number \(condition)").compactMap {
                        ids.firstIndex(of: $0)
                    }
                })
        }

        #expect(found[0] == found[1])
        #expect(found[1].map(\.count) == [5, 6, 4, 5, 4, 1, 20])
    }
}
