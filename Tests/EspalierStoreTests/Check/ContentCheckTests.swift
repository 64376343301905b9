// The faults beside entries and links that a check finds, in counters, metadata, records, trees and values; and those
// of them that a rebuild mends.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct ContentCheckTests {
    /// A title that is longer than an index entry can hold.
    private static let longTitle = String(repeating: "x", count: 600)

    private func store(_ fixture: StoreFixture) throws -> BTreeStore { try #require(fixture.store as? BTreeStore) }

    /// Changes a tree of the store without the store's knowledge.
    private func damage<Key>(
        _ fixture: StoreFixture, _ name: String, _ keys: Key.Type,
        _ change: (inout WriteTransaction, Tree<Key>) throws -> Void
    ) throws {
        var transaction = try store(fixture).database.beginWrite()
        let tree = try #require(try transaction.tree(named: name, keys: keys))
        try change(&transaction, tree)
        try transaction.commit()
    }

    private func problems(_ fixture: StoreFixture) throws -> [String] {
        try store(fixture).check().findings.map(\.problem)
    }

    /// The number that the store assigned to an entity.
    private func number(of entity: String, _ fixture: StoreFixture) throws -> UInt16 {
        let read = try store(fixture).database.beginRead()
        let schema = try #require(try read.tree(named: "schema", keys: [UInt8].self))
        for number in 1..<100 as Range<UInt16> {
            if try read.get(Array("entity:\(number)".utf8), from: schema) == Array(entity.utf8) { return number }
        }
        throw FixtureError.unknown(entity)
    }

    @Test(arguments: [nil, 0, 2, .max] as [UInt64?])
    func `a wrong counter of cut entries is found`(counted: UInt64?) throws {
        let fixture = try StoreFixture(.treeInFile)
        _ = try fixture.insert("Song", ["title": .string(Self.longTitle)])
        let index = try #require(try store(fixture).database.beginRead().tree(named: "index:Media.title"))
        try damage(fixture, "counters", UInt64.self) { transaction, tree in
            let counter = 3 << 32 | UInt64(index.id)
            #expect(try transaction.get(counter, from: tree) == littleEndian(1))
            if let counted {
                _ = try transaction.put(littleEndian(counted), for: counter, in: tree)
            } else {
                _ = try transaction.remove(counter, from: tree)
            }
        }

        let found = try problems(fixture)
        let report = try store(fixture).rebuildDerivedTrees()

        #expect(found == ["the counter states \(counted ?? 0) cut entries, but there are 1"])
        #expect(report.counters.map(\.name) == ["cut entries of index:Media.title"])
        #expect(report.counters.map(\.before) == [counted] && report.counters.map(\.after) == [1])
        #expect(report.after?.isOK == true)
    }

    @Test func `each check draws hashes of its own, which no maker of a file can foresee`() {
        let key = Array("the key of an entry".utf8)
        let hashes = (0..<64).map { _ in EntryHash() }

        // SAFETY: the key outlives its span, here and below.
        let marks = hashes.map { unsafe $0.mark(key.span.bytes, 7) }

        #expect(Set(marks.map(\.low)).count == 64 && Set(marks.map(\.high)).count == 64)
        for (hash, mark) in zip(hashes, marks) {
            let (same, other) = (unsafe hash.mark(key.span.bytes, 7), unsafe hash.mark(key.span.bytes, 8))
            #expect(same.low == mark.low && same.high == mark.high)
            #expect(other.low != mark.low && other.high != mark.high)
        }
    }

    @Test func `one wrong entry is found, whatever hashes a check draws`() throws {
        let fixture = try StoreFixture(.treeInMemory)
        _ = try fixture.insert("Song", ["title": .string("one")])
        try damage(fixture, "index:Media.title", [UInt8].self) { transaction, tree in
            var cursor = try transaction.cursor(over: tree)
            #expect(try cursor.next())
            let (key, value) = (try cursor.key, try cursor.value())
            _ = try transaction.put(value.dropLast() + [1], for: key, in: tree)
        }

        // In one check of 64 the wrong entry has the bucket of the right one, so counts alone would not find it.
        let wholeCount = try (0..<600).count(where: { _ in try problems(fixture).isEmpty })

        #expect(wholeCount == 0)
    }

    @Test func `a counter that is no number, or counts nothing that there is, is found`() throws {
        let fixture = try StoreFixture(.treeInFile)
        _ = try fixture.insert("Song")
        let rows = try 1 << 32 | UInt64(number(of: "Song", fixture))
        for (counter, bytes) in [
            (rows, [1, 2, 3]), (rows, [1, 0, 0, 0, 0, 0, 0, 0, 0]), (5 << 32 | 1, littleEndian(0)),
            (1 << 32 | 900, littleEndian(0)), (2 << 32, littleEndian(0)), (0, littleEndian(0)),
        ] as [(UInt64, [UInt8])] {
            try damage(fixture, "counters", UInt64.self) { transaction, tree in
                _ = try transaction.put(bytes, for: counter, in: tree)
            }

            let found = try problems(fixture)
            let report = try store(fixture).rebuildDerivedTrees()

            let problem = "the counter does not have 8 bytes, or its key names nothing in the store"
            #expect(found.contains(problem), "\(counter): \(found)")
            #expect(found.count == (counter == rows ? 2 : 1), "\(counter): \(found)")
            #expect(report.after?.isOK == true, "\(counter): \(report.after?.findings ?? [])")
        }
    }

    @Test func `metadata that are none are found, and a rebuild leaves them`() throws {
        let fixture = try StoreFixture(.treeInFile)
        try store(fixture).setMetadata(["kept": .string("as it is")])
        try damage(fixture, "metadata", [UInt8].self) { transaction, tree in
            let value = try #require(try transaction.get(Array("kept".utf8), from: tree))
            _ = try transaction.put([1, 2, 3], for: Array("cut".utf8), in: tree)
            _ = try transaction.put(value, for: [0xFF, 0xFE], in: tree)
        }

        let report = try store(fixture).check()
        let rebuilt = try store(fixture).rebuildDerivedTrees()

        #expect(report.findings.map(\.tree) == ["metadata", "metadata"])
        #expect(report.findings.map(\.key) == ["637574", "fffe"], "\(report.findings)")
        #expect(report.findings.allSatisfy { $0.problem == "the metadata entry is not a value" })
        #expect(!rebuilt.hasChanges)
    }

    @Test(arguments: ["rows:", "index:", "unique:", "links:", "owners:"])
    func `a tree that the model does not ask for is found, if its name is one of the store's own`(
        prefix: String
    ) throws {
        let fixture = try StoreFixture(.treeInFile)
        for name in ["an application's", prefix + "Song.nothing"] {
            var transaction = try store(fixture).database.beginWrite()
            _ = try transaction.createTree(named: name, keys: [UInt8].self)
            try transaction.commit()
        }

        let found = try store(fixture).check().findings

        #expect(found.map(\.description) == ["Tree \"\(prefix)Song.nothing\": the model does not require this tree."])
    }

    @Test func `a record of the schema that means nothing is found`() throws {
        let fixture = try StoreFixture(.treeInFile)
        try damage(fixture, "schema", [UInt8].self) { transaction, tree in
            _ = try transaction.put([1], for: Array("layout:x".utf8), in: tree)
        }

        let found = try store(fixture).check().findings

        #expect(found.map(\.tree) == ["schema"])
        #expect(found.first?.problem.contains("records, but only") == true, "\(found)")
    }

    @Test func `bytes that are no value of their type are found`() throws {
        let fixture = try StoreFixture(.treeInFile)
        let book = try fixture.insert("Book", ["isbn": .string("one"), "pages": .integer(1)])
        try damage(fixture, "rows:Media", UInt64.self) { transaction, tree in
            var row = try #require(try transaction.get(book.key, from: tree))
            let text = try #require(row.firstIndex(of: UInt8(ascii: "o")))
            row[text] = 0xFF
            _ = try transaction.put(row, for: book.key, in: tree)
        }

        let found = try store(fixture).check().findings.filter { $0.tree == "rows:Media" }

        #expect(found.map(\.problem) == ["the bytes of isbn are not a value of its type"])
        #expect(found.map(\.entity) == ["Book"] && found.map(\.key) == ["\(book.key)"])
    }

    @Test func `a to-one value that leads to a row of another entity is found`() throws {
        let fixture = try StoreFixture(.treeInFile)
        let (person, album) = (try fixture.insert("Person"), try fixture.insert("Album"))
        let song = try fixture.insert("Song", to: ["album": album])
        // Then the wrong reference also leads to an existing row.
        #expect(person.key == album.key)
        let (persons, albums) = (try number(of: "Person", fixture), try number(of: "Album", fixture))
        try damage(fixture, "rows:Media", UInt64.self) { transaction, tree in
            var row = try #require(try transaction.get(song.key, from: tree))
            let reference = [UInt8(albums), UInt8(album.key), 0]
            let place = try #require(
                (0..<row.count - 2).last { Array(row[$0..<$0 + 3]) == reference }, "no reference of three bytes")
            row[place] = UInt8(persons)
            _ = try transaction.put(row, for: song.key, in: tree)
        }

        let found = try store(fixture).check().findings

        #expect(found.map(\.problem) == ["album leads to Person, not to Album"])
        #expect(found.map(\.key) == ["\(song.key)"])
    }

    @Test func `a file without objects, and rows of an older format, are not rebuilt`() throws {
        try withTemporaryFolder { folder in
            let plain = folder.appending(path: "plain").path
            try Database.open(plain).close()
            let old = folder.appending(path: "old").path
            let golden = Checkout.root.appending(path: "Tests/EspalierTests/Golden/rows-1.espalier")
            try FileManager.default.copyItem(atPath: golden.path, toPath: old)

            for isDryRun in [true, false] {
                guard case .incompatibleModel(plain, let reason)? = refusal(of: plain, isDryRun: isDryRun) else {
                    Issue.record("a file without objects was rebuilt")
                    continue
                }
                #expect(reason == "it contains no objects, so there is nothing to rebuild")
                guard case .otherFormat(old, format: 1)? = refusal(of: old, isDryRun: isDryRun) else {
                    Issue.record("rows of format 1 were read as those of format 2")
                    continue
                }
            }

            let store = try BTreeStore.openWithStoredModel(path: old)
            let report = try store.check()
            try store.close()
            #expect(report.isOK && report.rowCounts.values.reduce(0, +) == 40)
        }
    }

    private func refusal(of path: String, isDryRun: Bool) -> StoreError? {
        do throws(StoreError) {
            _ = try BTreeStore.rebuildDerivedTrees(at: path, isDryRun: isDryRun)
            return nil
        } catch {
            return error
        }
    }
}

private func littleEndian(_ number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
}
