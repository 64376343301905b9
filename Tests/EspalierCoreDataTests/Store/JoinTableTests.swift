// Relationships and attributes whose names differ by digits at the end only have tables and columns of their own.

import EspalierCoreData
import EspalierModel
import EspalierModelFile
import Foundation
import Testing

@Suite struct JoinTableTests {
    private func withNames(_ file: String = "names.sqlite", _ body: (ImportedStore) throws -> Void) throws {
        try ImportedStore.with(
            files: ["names.sqlite": try Files.bytes(file)], name: "names.sqlite",
            model: try ModelDocument(contentsOf: Files.folder.appending(path: "Names.xcdatamodel")), body)
    }

    @Test func `relationships whose names differ by digits have the members of their own tables`() throws {
        try withNames { names throws in
            #expect(try names.destinations("Album", 1, "labels") == [2, 4])
            #expect(try names.destinations("Album", 1, "labels2") == [3])
            #expect(try names.destinations("Album", 2, "labels2") == [4])
            #expect(try names.destinations("Album", 1, "tags") == [2])
            #expect(try names.destinations("Album", 2, "tags1") == [1])
            #expect(try names.destinations("Tag", 2, "albums") == [1, 3])
            #expect(try names.destinations("Tag", 3, "albums1") == [1])
        }
    }

    @Test func `the direction of a relationship to the own entity follows from the names of columns`() throws {
        try withNames { names throws in
            #expect(try names.destinations("Album", 1, "link") == [2, 3])
            #expect(try names.destinations("Album", 1, "link1") == [])
            #expect(try names.destinations("Album", 3, "link1") == [1])
            // Both names in the table have another digit after them.
            #expect(try names.destinations("Album", 1, "near") == [2])
            #expect(try names.destinations("Album", 1, "near1") == [])
        }
    }

    @Test func `a column is found by its name if a number follows that is not in the model`() throws {
        try withNames { names throws in
            #expect(try names.destinations("Label", 4, "parents") == [2, 3])
            #expect(try names.destinations("Tag", 1, "children") == [2, 3])
        }
    }

    @Test func `a relationship without a table of its own does not get that of another one`() throws {
        try withNames { names throws in
            #expect(try names.destinations("Game", 3, "maps") == [2])
            #expect(try names.destinations("Game", 3, "maps2") == [1])
            #expect(try names.destinations("Book", 1, "notes") == [])
            #expect(try names.destinations("Book", 1, "notes1") == [4])
            #expect(names.report.findings.map(\.description) == ["Book.notes: the store has no table for it"])
            #expect(names.report.ignoredTables.isEmpty)
        }
    }

    @Test func `an attribute has the column of its very name, and one with a number after it is another's`() throws {
        try withNames { names throws in
            #expect(try names.value("Book", 1, "title") == .string("Emma"))
            #expect(try names.value("Disc", 2, "title") == .string("Blue"))
            #expect(try names.value("Game", 3, "title1") == .string("Go"))
        }
    }

    @Test func `a relationship that several tables fit equally is listed with them, and all else arrives`() throws {
        try withNames("names-unclear.sqlite") { names throws in
            let text = "each of the tables Z_1TAGS8, Z_1TAGS9 could be its table"
            let found = Set(names.report.findings.map(\.description))
            #expect(
                found == [
                    "Album.tags: \(text)", "Tag.albums: \(text)", "Book.notes: the store has no table for it",
                ])
            #expect(names.report.ignoredTables == ["Z_1TAGS8", "Z_1TAGS9"])
            #expect(try names.destinations("Album", 1, "tags") == [])
            #expect(try names.destinations("Album", 2, "tags1") == [1])
            #expect(names.report.objectCounts.values.reduce(0, +) == 13)
        }
    }
}
