// Lists that are arrays, in memory and in an application's data, lose many destinations in one save.

import EspalierModel
import EspalierStore
import Testing

/// The data of a store that is loaded as a whole, and is not changed.
private final class GivenGraph: GraphSource {
    private let graph: StoredGraph

    init(_ graph: StoredGraph) { self.graph = graph }

    func load(_ model: ManagedObjectModel) throws -> StoredGraph? { graph }

    func save(_ graph: StoredGraph, _ model: ManagedObjectModel) throws {}
}

@Suite struct RemovedLinkTests {
    /// The rows that one save deletes.
    enum Deletion: CaseIterable {
        case members, owners, membersAndOwners
    }

    /// The owners of all songs of a store: a person by a derived list and one without inverse, an album by an ordered
    /// one, and a tag.
    private struct Owners {
        let person: ObjectID
        let album: ObjectID
        let tag: ObjectID
        let songs: [ObjectID]

        var all: [ObjectID] { [person, album, tag] }
    }

    private func fill(_ fixture: StoreFixture, songs count: Int) throws -> Owners {
        var request = SaveRequest()
        request.insertions = [
            try fixture.insertion("Person", ["name": .string("one")]), try fixture.insertion("Album"),
            try fixture.insertion("Tag"),
        ]
        let owners = request.insertions.map(\.id)
        for number in 0..<count {
            request.insertions.append(
                try fixture.insertion(
                    "Song", ["title": .string("\(number)")], to: ["owner": owners[0], "album": owners[1]]))
        }
        let songs = request.insertions.dropFirst(3).map(\.id)
        request.links = [
            .init(owner: owners[0], slot: try fixture.relationship("favourites", of: "Person").slot, order: songs),
            .init(owner: owners[2], slot: try fixture.relationship("media", of: "Tag").slot, added: songs),
        ]
        let ids = try fixture.store.save(request).inserted.map(\.id)
        return Owners(person: ids[0], album: ids[1], tag: ids[2], songs: Array(ids[3...]))
    }

    /// Deletes rows of a new store with `count` songs; returns the steps of the save.
    private func steps(_ kind: StoreKind, _ deletion: Deletion, songs count: Int) throws -> Int {
        let fixture = try StoreFixture(kind)
        let owners = try fill(fixture, songs: count)
        let ids =
            switch deletion {
            case .members: owners.songs
            case .owners: owners.all
            case .membersAndOwners: owners.songs + owners.all
            }
        var request = SaveRequest()
        request.deletions = ids.map { .init(id: $0, expectedVersion: 1) }

        var deletedCount = 0
        let steps = try StepCount.count { deletedCount = try fixture.store.save(request).deleted.count }.steps

        #expect(deletedCount == ids.count)
        if deletion == .members {
            for (owner, name) in [
                (owners.person, "media"), (owners.person, "favourites"), (owners.album, "songs"), (owners.tag, "media"),
            ] {
                #expect(try fixture.links(owner, name).isEmpty, "\(name) of \(owner)")
            }
        }
        if deletion == .owners {
            #expect(try fixture.store.count(fixture.request("Song")) == count)
            #expect(try fixture.links(owners.songs[count / 2], "tags").isEmpty)
            let row = try #require(try fixture.store.snapshots(of: [owners.songs[0]])[0])
            let (owner, album) = (
                try fixture.relationship("owner", of: "Song"), try fixture.relationship("album", of: "Song")
            )
            #expect(row.destination(at: owner.slot) == nil && row.destination(at: album.slot) == nil)
        }
        return steps
    }

    @Test(arguments: [StoreKind.memory, .outside, .binaryFile], Deletion.allCases)
    func `deleting all members of one owner, or their owners, takes steps for each once`(
        _ kind: StoreKind, _ deletion: Deletion
    ) throws {
        let few = try steps(kind, deletion, songs: 500)
        let many = try steps(kind, deletion, songs: 4000)

        #expect(few >= 500 && many <= 9 * few, "\(few) steps for 500 songs, \(many) for 4,000")
    }

    @Test(arguments: [StoreKind.memory, .outside, .binaryFile])
    func `of a list that loses every other destination, the others stay in order`(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let owners = try fill(fixture, songs: 600)
        let (even, odd) = (
            stride(from: 0, to: 600, by: 2).map { owners.songs[$0] },
            stride(from: 1, to: 600, by: 2).map { owners.songs[$0] }
        )
        var request = SaveRequest()
        request.deletions = even.map { .init(id: $0, expectedVersion: 1) }

        let result = try fixture.store.save(request)

        #expect(Set(result.changed) == Set(owners.all))
        #expect(try fixture.links(owners.album, "songs") == odd)
        #expect(try fixture.links(owners.person, "favourites") == odd)
        #expect(try Set(fixture.links(owners.tag, "media")) == Set(odd))
        #expect(try Set(fixture.links(owners.person, "media")) == Set(odd))
    }

    @Test func `a destination of an ordered list that does not lead back is found in a whole graph`() throws {
        let fixture = try StoreFixture(.binaryFile)
        let lists = try (0..<2).map { try fixture.insert("Playlist", ["name": .string("\($0)")]) }
        let songs = try (0..<3).map { try fixture.insert("Song", ["title": .string("\($0)")]) }
        for list in lists { try fixture.link(list, "songs", order: [songs[2], songs[0], songs[1]]) }
        for song in songs { try fixture.link(song, "playlists", order: lists.reversed()) }
        let graph = try #require(fixture.store as? WholeGraphStore).graph()
        let model = fixture.model
        _ = try WholeGraphStore(GivenGraph(graph), type: .binary, model: model)
        #expect(graph.lists.count == 5)

        for position in graph.lists.indices {
            var forged = graph
            let list = graph.lists[position]
            forged.lists[position] = .init(list.owner, list.relationship, Array(list.destinations.dropLast()))
            #expect(throws: StoreError.self, "\(list.relationship.name) of \(list.owner)") {
                try WholeGraphStore(GivenGraph(forged), type: .binary, model: model)
            }
        }
    }
}
