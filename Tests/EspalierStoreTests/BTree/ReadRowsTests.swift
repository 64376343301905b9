// The memory of the rows that predicates read across relationships: a limit of bytes, whatever the rows are, and rows
// that are read again after they had to go.

import EspalierModel
import Foundation
import TestSupport
import Testing

@testable import EspalierStore

@Suite struct ReadRowsTests {
    /// The number of documents: their first pages together exceed the limit.
    private static let count = ReadRows.byteCountMax / 4096 + 400

    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Document",
                attributes: [
                    AttributeDescription("title", .string), AttributeDescription("scan", .binary),
                    AttributeDescription("label", .string),
                ], relationships: [RelationshipDescription("owner", to: "Owner", inverse: "documents")]),
            EntityDescription(
                "Owner", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("documents", to: "Document", inverse: "owner", .toMany)]),
        ])
    }

    /// Documents of one owner; their scans take 6,000 bytes each.
    private static func archive() throws -> (fixture: StoreFixture, documents: [ObjectID]) {
        let fixture = try StoreFixture(.treeInMemory, model())
        let owner = try fixture.insert("Owner", ["name": .string("archive")])
        var request = SaveRequest()
        let scan = Data(repeating: 7, count: 6000)
        request.insertions = try (0..<count).map { number in
            try fixture.insertion(
                "Document",
                [
                    "title": .string("title \(number)"), "scan": .binary(scan), "label": .string("label \(number % 7)"),
                ], to: ["owner": owner])
        }
        return (fixture, try fixture.store.save(request).inserted.map(\.id))
    }

    /// The values that were read in a session, and the memory that its rows took.
    private struct Seen: Sendable {
        var values: [AttributeValue] = []
        var owners: Set<ObjectID?> = []
        /// The greatest number of bytes that the session has counted.
        var countedMax = 0
        /// The greatest number of bytes that rows had in memory.
        var heldMax = 0
        var evictedCount = 0
    }

    /// Works in a session of the store.
    private static func inSession(
        _ fixture: StoreFixture, _ documents: [ObjectID],
        _ body: (ReadSession, [ObjectID]) throws(StoreError) -> Seen
    ) throws -> Seen {
        let snapshot = try #require(try fixture.store.snapshot() as? BTreeSnapshot)
        return try snapshot.withSession(for: documents) { session, documents throws(StoreError) in
            defer { session.forgetRows() }
            return try body(session, documents)
        }
    }

    @Test func `rows that are held beyond the limit of memory give their bytes back, and are read again`() throws {
        let (fixture, documents) = try Self.archive()
        let seen = try Self.inSession(fixture, documents) { session, documents throws(StoreError) in
            var seen = Seen()
            var rows: [EvaluatedRow] = []
            for id in documents {
                guard let row = try session.row(id) else { continue }
                rows.append(row)
                seen.countedMax = max(seen.countedMax, session.readRows.byteCount)
            }
            seen.heldMax = rows.reduce(0) { $0 + $1.row.bytes.count }
            seen.evictedCount = rows.count { $0.row.isEvicted }
            for row in rows {
                seen.values.append(try row.value(at: 0))
                seen.owners.insert(try row.destinationID(at: 0))
                seen.countedMax = max(seen.countedMax, session.readRows.byteCount)
            }
            seen.heldMax = max(seen.heldMax, rows.reduce(0) { $0 + $1.row.bytes.count })
            return seen
        }

        #expect(seen.evictedCount > 0, "no row has given its bytes back")
        #expect(seen.countedMax <= ReadRows.byteCountMax, "\(seen.countedMax) bytes are counted")
        #expect(seen.heldMax <= ReadRows.byteCountMax, "\(seen.heldMax) bytes are held")
        #expect(seen.values == (0..<Self.count).map { AttributeValue.string("title \($0)") })
        #expect(seen.owners.count == 1)
    }

    @Test func `values behind the first pages are kept within the limit, and the long values are not`() throws {
        let (fixture, documents) = try Self.archive()
        let seen = try Self.inSession(fixture, documents) { session, documents throws(StoreError) in
            var seen = Seen()
            for id in documents.prefix(900) + documents.prefix(900) {
                guard let row = try session.row(id) else { continue }
                seen.values.append(try row.value(at: 2))
                seen.countedMax = max(seen.countedMax, session.readRows.byteCount)
                seen.heldMax = max(seen.heldMax, row.row.bytes.count)
            }
            return seen
        }

        let expected = (0..<900).map { AttributeValue.string("label \($0 % 7)") }
        #expect(seen.values == expected + expected)
        #expect(seen.countedMax <= ReadRows.byteCountMax, "\(seen.countedMax) bytes are counted")
        #expect(seen.heldMax < 6000, "a row of more than 6,000 bytes is kept whole")
    }

    @Test func `a condition on all of a long list, and an order across it, find what they should within the limit`()
        throws
    {
        let (fixture, documents) = try Self.archive()
        let last = "title \(Self.count - 1)"
        #expect(try fixture.find("Owner", "ANY documents.title == '\(last)' AND documents.@count > 3").count == 1)
        #expect(try fixture.find("Owner", "SUBQUERY(documents, $d, $d.label == 'label 3').@count > 300").count == 1)
        #expect(try fixture.find("Owner", "NONE documents.label == 'label 7'").count == 1)
        let request = try fixture.request(
            "Document", FetchPredicate(format: "owner.name == 'archive' AND uppercase(label) == 'LABEL 2'"),
            sort: [SortKey("owner.name"), SortKey("label"), SortKey("title")])
        let found = try fixture.store.fetchIDs(request)
        let numbers = (0..<Self.count).filter { $0 % 7 == 2 }.sorted { "title \($0)" < "title \($1)" }
        #expect(found == numbers.map { documents[$0] })
    }
}
