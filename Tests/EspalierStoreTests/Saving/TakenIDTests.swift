// Insertions with the ID of a stored row, on every kind of store: no action on unique values makes them acceptable. And
// references to the ID of a row that the same save inserts: they do not mean that row.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct TakenIDTests {
    @Test(arguments: StoreKind.allCases, [ConstraintAction.merge, .keep])
    func `an insertion with the ID of a stored row is refused, although its unique values are that row's`(
        kind: StoreKind, action: ConstraintAction
    ) throws {
        let register = try Register(kind)
        let row = try register.insert("Party", ["name": "Ada", "note": "old"])
        var new = try register.insertion("Party", ["name": "Ada", "note": "new"])
        new.id = row
        let other = try register.insertion("Party", ["name": "Ada"])

        for insertions in [[new], [new, other], [other, new]] {
            let error = #expect(throws: StoreError.self) { try register.save(insertions, [Register.name: action]) }
            // A store that cannot tell whether another writer has inserted the row reports a conflict.
            switch error {
            case .invalidRequest, .conflict: break
            default: Issue.record("\(String(describing: error))")
            }
        }

        #expect(try register.text(of: row) == "Ada, none, old, 3")
        #expect(try register.version(of: row) == 1)
        try register.check()
    }

    /// The ID that the next row of an entity gets.
    private func nextID(_ name: String, in fixture: StoreFixture) throws -> ObjectID {
        let entity = try fixture.entity(name)
        let last = try fixture.store.reserveIDs(for: entity, count: 1)[0]
        var reference = RowReference.number(last.key + 1)
        if case .text(let text)? = last.reference {
            let number = try #require(text.split(separator: " ").last.flatMap { Int($0) })
            reference = .text("\(name) Nº \(number + 1)")
        }
        return ObjectID(reference, of: entity, inStore: fixture.store.identifier)
    }

    @Test(arguments: StoreKind.allCases)
    func `a request that names the ID which one of its new rows gets means another row, which does not exist`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let (song, tag) = try (fixture.insert("Song"), fixture.insert("Tag"))
        let (person, list) = try (fixture.insert("Person"), fixture.insert("Playlist"))
        func link(
            _ owner: ObjectID, _ name: String, add: [ObjectID] = [], order: [ObjectID]? = nil
        ) throws -> SaveRequest.LinkChange {
            let slot = try fixture.relationship(name, of: owner.entityName).slot
            return .init(owner: owner, slot: slot, added: add, order: order)
        }
        let attempts: [(name: String, lead: (inout SaveRequest, ObjectID) throws -> Void)] = [
            ("Person", { $0.insertions.append(try fixture.insertion("Song", to: ["owner": $1])) }),
            ("Person", { $0.updates = [try fixture.update(song, to: ["owner": $1])] }),
            ("Note", { $0.updates = [try fixture.update(person, to: ["note": $1])] }),
            ("Song", { $0.links = [try link(tag, "media", add: [$1])] }),
            ("Song", { $0.links = [try link(list, "songs", order: [$1])] }),
            ("Person", { $0.links = [try link($1, "watched", add: [song])] }),
        ]
        // With rows of two hierarchies, the order in which these data give out references is random.
        for (name, lead) in attempts.dropFirst(kind == .outside ? 1 : 0) {
            var request = SaveRequest()
            request.insertions = [try fixture.insertion(name)]
            let id = try nextID(name, in: fixture)
            try lead(&request, id)

            let error = #expect(throws: StoreError.self) { _ = try fixture.store.save(request) }

            guard case .references(let found)? = error else {
                Issue.record("\(name): \(String(describing: error))")
                continue
            }
            #expect(found.map(\.kind) == [.missing] && found.flatMap(\.destinations) == [id], "\(name)")
            #expect(try fixture.store.snapshots(of: [id])[0] == nil, "\(name)")
        }
        #expect(try fixture.store.fetchIDs(fixture.request("Person")) == [person])

        // By its temporary ID a new row can be named anywhere.
        var request = SaveRequest()
        let new = try fixture.insertion("Person")
        request.insertions = [new, try fixture.insertion("Song", to: ["owner": new.id])]
        request.updates = [try fixture.update(song, to: ["owner": new.id])]
        request.links = [try link(new.id, "watched", add: [song])]
        let saved = try #require(try fixture.store.save(request).inserted.first)
        #expect(try fixture.links(saved.id, "media").contains(song) && fixture.links(saved.id, "watched") == [song])
    }
}
