// Values that must be unique and are not, because equal texts may have different bytes in a store of Core Data, are
// listed, and everything else arrives.

import EspalierCoreData
import EspalierModel
import EspalierModelFile
import EspalierStore
import Foundation
import Testing

@Suite struct SharedValuesTests {
    /// Runs `body` with the import in one batch, in batches of two rows, and with each row in a batch of its own.
    private func withShared(_ body: (ImportedStore) throws -> Void) throws {
        for count in [2, 1, nil] {
            let limits = count.map { ImportLimits(rowCount: $0, rowCountMax: $0, memberCount: $0) } ?? ImportLimits()
            try ImportedStore.with(
                files: ["shared.sqlite": try Files.bytes("shared.sqlite")], name: "shared.sqlite",
                model: try ModelDocument(contentsOf: Files.folder.appending(path: "Shared.xcdatamodel")),
                limits: limits, body)
        }
    }

    @Test func `of rows that share a unique value the first one keeps it, and each other one is listed`() throws {
        try withShared { shared throws in
            let found = Set(shared.report.findings.map { "\($0.kind) \($0.entity)/\($0.key).\($0.property)" })
            #expect(
                found == [
                    "constraint Tag/2.name", "constraint Tag/5.name", "constraint Tag/4.mark", "constraint Tag/3.title",
                    "constraint Person/2.role", "constraint Person/2.boss",
                ])
            #expect(shared.report.findingCount == found.count)
            #expect(shared.report.objectCounts == ["Person": 3, "Tag": 5])
            #expect(try shared.value("Tag", 1, "name") == .string("\u{1EBF}"))
            #expect(try shared.value("Tag", 2, "name") == .null)
            #expect(try shared.value("Tag", 5, "name") == .null)
            #expect(try shared.value("Tag", 5, "title") == .string("Eve"))
            let text = shared.report.findings.first { $0.key == 2 && $0.property == "name" }?.description
            #expect(text == "Tag/p2.name: Tag/p1 has the same name, which must be unique")
        }
    }

    @Test func `of values that are unique together an optional one is left out, and the others arrive`() throws {
        try withShared { shared throws in
            #expect(try shared.value("Tag", 3, "mark") == .string("m"))
            #expect(try shared.value("Tag", 4, "mark") == .null)
            #expect(try shared.value("Tag", 4, "code") == .string("e\u{301}"))
            #expect(try shared.value("Person", 2, "role") == .null)
            #expect(try shared.destination("Person", 2, "tag") == "Tag/1")
            #expect(try shared.value("Person", 3, "role") == .string("\u{E9}"))
        }
    }

    @Test func `of a derived value that is not unique its source is left out`() throws {
        try withShared { shared throws in
            #expect(try shared.value("Tag", 1, "key") == .string("ada"))
            #expect(try shared.value("Tag", 3, "title") == .null)
            #expect(try shared.value("Tag", 3, "key") == .null)
        }
    }

    @Test func `of a destination that is unique the first row keeps it, if it is written later too`() throws {
        try withShared { shared throws in
            #expect(try shared.destination("Person", 1, "boss") == "Person/3")
            #expect(try shared.destination("Person", 2, "boss") == nil)
            #expect(try shared.destinations("Person", 3, "reports") == [1])
            #expect(shared.report.destinationCount == 4)
        }
    }
}
