// Enumerating a request for values: the rows of `fetch`, read in batches where each object has a row of its own.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct EnumerateValuesTests {
    /// A stack with 15 albums of 4 tracks each, 60 in all.
    private func music(_ kind: StoreKind) throws -> Stack {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 5, tracks: 4)
        return stack
    }

    private func rows(
        _ request: ValueRequest, _ batchSize: Int, in context: ManagedObjectContext
    ) throws -> [ResultRow] {
        var rows: [ResultRow] = []
        try context.enumerate(request, batchSize: batchSize) { rows.append($0) }
        return rows
    }

    private func requests() throws -> [ValueRequest] {
        var requests: [ValueRequest] = [
            ValueRequest(entityName: "Track"),
            ValueRequest(entityName: "Track", columns: ["name", "album.title", "album.artist.name"]),
            ValueRequest(entityName: "Track", columns: ["seconds", .count(as: "count")]),
            ValueRequest(entityName: "Track", columns: [.sum("seconds", as: "sum")]),
        ]
        var grouped = ValueRequest(entityName: "Track", columns: ["album.title", .count(as: "count")])
        grouped.propertiesToGroupBy = ["album.title"]
        grouped.havingPredicate = try FetchPredicate(format: "count > 1")
        var distinct = ValueRequest(entityName: "Track", columns: ["seconds"])
        distinct.returnsDistinctResults = true
        requests += [grouped, distinct]
        for index in requests.indices[..<2] {
            var sorted = requests[index]
            sorted.sortKeys = [SortKey("seconds", ascending: false), SortKey("name")]
            requests.append(sorted)
            sorted.predicate = try FetchPredicate(format: "album.artist.founded > 1951 AND seconds != 101")
            requests.append(sorted)
            (sorted.fetchOffset, sorted.fetchLimit) = (7, 23)
            requests.append(sorted)
            sorted.sortKeys = [SortKey("album.title")]
            requests.append(sorted)
        }
        return requests
    }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `it gives the rows that fetch gives, whatever the request, the batch and the changes (FR-04)`(
        _ kind: StoreKind, _ hasChanges: Bool
    ) throws {
        let stack = try music(kind)
        if hasChanges {
            let tracks = try stack.context.fetch(FetchRequest<Track>(sortedBy: [SortKey("name")]))
            tracks[3].seconds = 500
            try stack.context.delete(tracks[5])
        }
        let child = ManagedObjectContext(parent: stack.context)
        for request in try requests() {
            for context in [stack.context, child] {
                let expected = Array(try context.fetch(request))
                #expect(!expected.isEmpty, "\(request)")
                for batchSize in [0, 1, 7, 1000] {
                    #expect(try rows(request, batchSize, in: context) == expected, "\(batchSize): \(request)")
                }
            }
        }
    }

    @Test func `it reads rows in batches, also in an order (FR-04)`() throws {
        for order in [[], [SortKey("name")]] {
            let stack = try music(.btree)
            let other = stack.newContext()
            var request = ValueRequest(entityName: "Track", columns: ["name"])
            request.sortKeys = order
            var names: [String] = []
            try stack.context.enumerate(request, batchSize: 10) { row in
                guard case .string(let name)? = row["name"] else { return }
                names.append(name)
                guard names.count == 15 else { return }
                for track in try other.fetch(FetchRequest<Track>()) { track.name = "New" }
                try other.save()
                try stack.context.setQueryGeneration(from: nil)
            }
            // After a context has moved on, it reads the newer generation.
            #expect(names.count == 60 && !names.prefix(20).contains("New"), "\(order)")
            #expect(names.dropFirst(20).allSatisfy { $0 == "New" }, "\(order)")
        }
    }

    @Test func `an error of the body, and a request that does not fit the model, end it`() throws {
        struct Enough: Error {}
        let stack = try music(.btree)
        var count = 0
        #expect(throws: Enough.self) {
            try stack.context.enumerate(ValueRequest(entityName: "Track"), batchSize: 10) { _ in
                count += 1
                if count == 25 { throw Enough() }
            }
        }
        #expect(count == 25)
        let wrong = ValueRequest(entityName: "Track", columns: ["nothing"])
        let found = contextError { try stack.context.enumerate(wrong) { _ in } }
        let expected = contextError { _ = try stack.context.fetch(wrong) }
        #expect(found != nil && found.map { "\($0)" } == expected.map { "\($0)" })
    }
}
