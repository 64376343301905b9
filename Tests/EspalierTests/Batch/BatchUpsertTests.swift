// Batch insertions whose unique values rows have already: a row of the request gives the properties that it names to
// the row that it goes into, and no others (BR-03).

import Espalier
import Testing

@Suite struct BatchUpsertTests {
    /// The guest with this ID as a fresh context reads it: its text, and the ID of its city.
    private func stored(_ id: ObjectID, _ guests: GuestList) throws -> (text: String, city: [ObjectID]) {
        let reader = guests.newContext()
        defer { withExtendedLifetime(reader) {} }
        let guest = try reader.existingObject(with: id)
        return (guest.guestText, try guest.ids("city"))
    }

    private func upsert(
        _ objects: [[String: any PredicateArgument]], _ guests: GuestList, _ entityName: String = "Guest"
    ) throws -> BatchResult {
        var request = BatchInsertRequest(entityName: entityName, objects: objects)
        (request.constraintAction, request.returnsObjectIDs) = (.merge, true)
        return try guests.coordinator.execute(request)
    }

    @Test(arguments: StoreKind.allCases)
    func `a default value and null that a row names replace the stored values (BR-03)`(kind: StoreKind) throws {
        let guests = try GuestList(kind)
        let ada = try guests.store(
            "Guest", ["name": .string("Ada"), "code": .integer(7), "note": .string("old"), "rank": .integer(5)])

        // 3 is the default value of the rank.
        #expect(try upsert([["name": "Ada", "rank": 3]], guests).objectIDs == [ada])
        #expect(try stored(ada, guests).text == "Ada, 7, old, 3")
        #expect(try upsert([["name": "Ada", "note": AttributeValue.null]], guests).objectIDs == [ada])
        #expect(try stored(ada, guests).text == "Ada, 7, none, 3")
        #expect(try upsert([["name": "Ada", "code": AttributeValue.null, "rank": 9]], guests).objectIDs == [ada])
        #expect(try stored(ada, guests).text == "Ada, none, none, 9")
        try guests.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `properties that a row does not name stay as they are stored (BR-03)`(kind: StoreKind) throws {
        let guests = try GuestList(kind)
        let city = try guests.store("City", ["name": .string("Turin")])
        let ada = try #require(
            try upsert([["name": "Ada", "code": 7, "note": "old", "rank": 5, "city": city]], guests).objectIDs?.first)

        #expect(try upsert([["name": "Ada"], ["code": 7]], guests).objectIDs == [ada, ada])

        let after = try stored(ada, guests)
        #expect(after.text == "Ada, 7, old, 5" && after.city == [city])
        try guests.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `a to-one relationship that a row names without a destination is emptied, at both ends (BR-03)`(
        kind: StoreKind
    ) throws {
        let guests = try GuestList(kind)
        let city = try guests.store("City", ["name": .string("Turin")])
        let badge = try guests.store("Badge", ["number": .integer(1)])
        let rows: [[String: any PredicateArgument]] = [["name": "Ada", "city": city, "badge": badge]]
        let ada = try #require(try upsert(rows, guests).objectIDs?.first)
        let watching = guests.newContext()
        let town = try watching.existingObject(with: city)
        #expect(try town.ids("guests") == [ada])

        var request = BatchInsertRequest(
            entityName: "Guest",
            objects: [["name": "Ada", "city": AttributeValue.null, "badge": AttributeValue.null]])
        request.constraintAction = .merge
        #expect(try watching.execute(request).count == 1)

        #expect(try stored(ada, guests).city.isEmpty && town.ids("guests").isEmpty)
        let bearer = try watching.existingObject(with: badge).ids("bearer")
        #expect(bearer.isEmpty)
        try guests.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `rows that go into a new row of the same request give what they name, too (BR-03)`(kind: StoreKind) throws {
        let guests = try GuestList(kind)
        let result = try upsert(
            [
                ["name": "Ada", "code": 1, "note": "first", "rank": 8], ["name": "Ada", "rank": 3],
                ["code": 1, "note": AttributeValue.null], ["name": "Ada"],
            ], guests)

        let ada = try #require(result.objectIDs?.first)
        #expect(result.count == 4 && result.objectIDs == [ada, ada, ada, ada])
        #expect(try stored(ada, guests).text == "Ada, 1, none, 3")
        try guests.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `rows of a closure give what they set, and under keep they give nothing (BR-03)`(kind: StoreKind) throws {
        let stack = try Stack(kind)
        let owners = ["Nina", "Otto"].map { name in
            let owner = Listener(context: stack.context)
            owner.name = name
            return owner
        }
        let playlist = Playlist(context: stack.context)
        (playlist.name, playlist.owner) = ("list", owners[0])
        try stack.context.save()
        func upsert(_ action: ConstraintAction) throws {
            var rows = [owners[1].objectID].makeIterator()
            var request = BatchInsertRequest(Playlist.self) { row in
                guard let owner = rows.next() else { return true }
                row.set("name", to: "list")
                row.set("owner", to: owner)
                return false
            }
            request.constraintAction = action
            try stack.context.execute(request)
        }

        try upsert(.keep)
        #expect(playlist.owner === owners[0])
        try upsert(.merge)
        #expect(playlist.owner === owners[1])
    }
}
