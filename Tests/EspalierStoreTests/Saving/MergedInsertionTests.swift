// Insertions whose unique values a row has already, on every kind of store: the actions of the request, the values and
// relationships after the save, and the result.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct MergedInsertionTests {
    @Test(arguments: StoreKind.allCases)
    func `an insertion goes into the row that has its unique value, and the answer says so`(kind: StoreKind) throws {
        let register = try Register(kind)
        let row = try register.insert("Party", ["name": "Ada", "note": "old", "rank": 5, "code": 7])
        let new = try register.insertion("Party", ["name": "Ada", "note": "new", "rank": 3])
        let other = try register.insertion("Party", ["name": "Bob"])

        let result = try register.save([new, other])

        #expect(result.insertions == [.merged(into: row, version: 2), .inserted(version: 1)])
        #expect(result.inserted.ids[0] == row && result.merged == [0] && result.updated.isEmpty)
        try register.fixture.reopen()
        // The insertion's rank is the default and its code is null: neither was set, so the row keeps its own.
        #expect(try register.text(of: row) == "Ada, 7, new, 5")
        #expect(try register.fixture.store.count(register.fixture.request("Party")) == 2)
        #expect(try register.version(of: row) == 2)
        try register.check()
    }

    @Test(arguments: StoreKind.allCases) func `keep leaves the row as it is`(kind: StoreKind) throws {
        let register = try Register(kind)
        let row = try register.insert("Party", ["name": "Ada", "note": "old"])
        let new = try register.insertion("Party", ["name": "Ada", "note": "new", "code": 9])

        let result = try register.save([new], [Register.name: .keep])

        #expect(result.insertions == [.merged(into: row, version: 1)])
        #expect(try register.text(of: row) == "Ada, none, old, 3")
        #expect(try register.version(of: row) == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `without an action, or with refuse, a taken value refuses the save`(kind: StoreKind) throws {
        let register = try Register(kind)
        let row = try register.insert("Party", ["name": "Ada", "code": 1])
        let new = try register.insertion("Party", ["name": "Ada", "code": 1])
        let refusing: [[ConstraintName: ConstraintAction]] = [
            [:], [Register.name: .refuse, Register.code: .refuse], [Register.name: .merge],
            [Register.code: .merge, Register.name: .refuse],
        ]
        for actions in refusing {
            let conflicts = register.conflicts { try register.save([new], actions) }
            #expect(conflicts.map(\.properties) == [["name"], ["code"]])
            #expect(conflicts.allSatisfy { $0.object == new.id && $0.other == row })
        }
        #expect(try register.version(of: row) == 1)
    }

    @Test(arguments: StoreKind.allCases) func `nulls are not equal to nulls`(kind: StoreKind) throws {
        let register = try Register(kind)
        _ = try register.insert("Party", ["note": "first"])
        let result = try register.save([
            register.insertion("Party", ["note": "second"]), register.insertion("Party", ["note": "third"]),
        ])
        #expect(result.insertions == [.inserted(version: 1), .inserted(version: 1)])
    }

    @Test(arguments: StoreKind.allCases)
    func `of equal insertions the first makes the row, and the others go into it in their order`(
        kind: StoreKind
    ) throws {
        let register = try Register(kind)
        let new = try [("a", 1), ("b", 2), ("c", 3)].map { note, rank in
            try register.insertion("Party", ["name": "Ada", "note": .string(note), "rank": .integer(rank)])
        }
        let city = try register.insertion("City", ["name": "Turin"])
        let item = try register.insertion("Item", to: ["owner": new[1].id])
        var request = register.request(new + [city, item])
        request.insertions[2].destinations[try register.slot("city", "Party")] = city.id

        let result = try register.fixture.store.save(request)

        let row = result.inserted.ids[0]
        #expect(
            result.insertions == [
                .inserted(version: 1), .merged(into: row, version: 1), .merged(into: row, version: 1),
                .inserted(version: 1), .inserted(version: 1),
            ])
        #expect(try register.text(of: row) == "Ada, none, c, 2")
        #expect(try register.fixture.links(result.inserted.ids[3], "parties") == [row])
        #expect(try register.fixture.links(row, "items") == [result.inserted.ids[4]])
        try register.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `a row that the request deletes, or a rule of it, takes no insertion`(kind: StoreKind) throws {
        let register = try Register(kind)
        let ada = try register.insert("Party", ["name": "Ada"])
        let city = try register.insert("City", ["name": "Turin"])
        let street = try register.insert("Street", ["name": "Via Po"], to: ["city": city])
        let lane = try register.insert("Street", ["name": "Lane"])
        // The deleted city cascades to the street and to the lane, so no insertion can be merged into one of them.
        try register.fixture.change(lane, to: ["city": city])
        var request = try register.request([
            register.insertion("Party", ["name": "Ada", "note": "new"]), register.insertion("City", ["name": "Turin"]),
        ])
        request.insertions.append(
            try register.insertion("Street", ["name": "Via Po"], to: ["city": request.insertions[1].id]))
        request.deletions = [.init(id: ada, expectedVersion: 1), .init(id: city, expectedVersion: 1)]

        let result = try register.fixture.store.save(request)

        #expect(result.insertions == Array(repeating: .inserted(version: 1), count: 3))
        #expect(Set(result.deleted) == [ada, city, street, lane])
        try register.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `updates of the request say who has a value`(kind: StoreKind) throws {
        let register = try Register(kind)
        let ada = try register.insert("Party", ["name": "Ada", "note": "a"])
        let bob = try register.insert("Party", ["name": "Bob", "note": "b"])
        var request = try register.request([
            register.insertion("Party", ["name": "Ada", "note": "new"]),
            register.insertion("Party", ["name": "Bea", "note": "newer"]),
        ])
        request.updates = [
            try register.fixture.update(ada, ["name": .string("Eva")]),
            try register.fixture.update(bob, ["name": .string("Bea"), "note": .string("updated")]),
        ]

        let result = try register.fixture.store.save(request)

        #expect(result.insertions == [.inserted(version: 1), .merged(into: bob, version: 2)])
        #expect(result.updated.map(\.id) == [ada, bob])
        #expect(try register.text(of: ada) == "Eva, none, a, 3")
        // The insertion is merged after the update.
        #expect(try register.text(of: bob) == "Bea, none, newer, 3")
        #expect(result.updated[1].version == 2)
        try register.check()

        request = try register.request([register.insertion("Party", ["name": "Bea", "rank": 9])])
        request.updates = [try register.fixture.update(bob, ["rank": .integer(8)])]
        request.updates[0].expectedVersion = 1
        #expect(throws: StoreError.self) { try register.fixture.store.save(request) }
        #expect(try register.text(of: bob) == "Bea, none, newer, 3")
    }

    @Test(arguments: StoreKind.allCases)
    func `an insertion is merged only if one row has all of its values that are taken`(kind: StoreKind) throws {
        let register = try Register(kind)
        let ada = try register.insert("Party", ["name": "Ada", "code": 1])
        let bob = try register.insert("Party", ["name": "Bob", "code": 2])

        let both = try register.insertion("Party", ["name": "Ada", "code": 2])
        let conflicts = register.conflicts { try register.save([both]) }
        #expect(conflicts.map(\.other) == [ada, bob] && conflicts.allSatisfy { $0.object == both.id })

        let result = try register.save([
            register.insertion("Party", ["name": "Ada", "code": 3]),
            // The code that the row had before is free; the code that it has now is its own.
            register.insertion("Party", ["name": "Eva", "code": 1]),
            register.insertion("Party", ["code": 3, "note": "by code"]),
        ])

        #expect(
            result.insertions == [
                .merged(into: ada, version: 2), .inserted(version: 1), .merged(into: ada, version: 2),
            ])
        #expect(try register.text(of: ada) == "Ada, 3, by code, 3")
        try register.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `a value that two merged insertions bring to two rows is told with the IDs of the request`(
        kind: StoreKind
    ) throws {
        let register = try Register(kind)
        _ = try register.insert("Party", ["name": "Ada"])
        _ = try register.insert("Party", ["name": "Bob"])
        let new = try [
            register.insertion("Party", ["name": "Ada", "code": 5]),
            register.insertion("Party", ["name": "Bob", "code": 5]),
        ]
        let conflicts = register.conflicts { try register.save(new) }
        #expect(conflicts.map(\.properties).contains(["code"]))
        #expect(conflicts.allSatisfy { conflict in new.contains { $0.id == conflict.object } })
    }

    @Test(arguments: StoreKind.allCases)
    func `a constraint with a relationship sees where that leads after merging`(kind: StoreKind) throws {
        let register = try Register(kind)
        let turin = try register.insert("City", ["name": "Turin"])
        let street = try register.insert("Street", ["name": "Via Po", "houses": 4], to: ["city": turin])
        let city = try register.insertion("City", ["name": "Turin", "size": 900])
        let streets = try [
            register.insertion("Street", ["name": "Via Po", "houses": 5], to: ["city": city.id]),
            register.insertion("Street", ["name": "Corso", "houses": 6], to: ["city": city.id]),
        ]

        let result = try register.save(streets + [city])

        #expect(
            result.insertions == [
                .merged(into: street, version: 2), .inserted(version: 1), .merged(into: turin, version: 2),
            ])
        #expect(try register.fixture.links(turin, "streets") == [street, result.inserted.ids[1]])
        #expect(try register.fixture.value(street, "houses") == .integer(5))
        try register.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `relationships of both sides lead to the row`(kind: StoreKind) throws {
        let register = try Register(kind)
        let cities = try ["A", "B", "C"].map { try register.insert("City", ["name": .string($0)]) }
        let badges = try [1, 2].map { try register.insert("Badge", ["number": .integer($0)]) }
        let row = try register.insert("Party", ["name": "Ada"], to: ["city": cities[0], "badge": badges[0]])
        let friend = try register.insert("Party", ["name": "Bob"])
        let clubs = try ["x", "y", "z"].map { try register.insert("Club", ["name": .string($0)]) }
        let items = try ["p", "q"].map { try register.insert("Item", ["text": .string($0)], to: ["owner": row]) }
        try register.fixture.link(clubs[0], "members", order: [row, friend])
        try register.fixture.link(clubs[1], "members", order: [friend])
        try register.fixture.link(row, "items", order: [items[1], items[0]])
        try register.fixture.link(row, "marks", order: [cities[1], cities[0]])

        let new = try register.insertion("Party", ["name": "Ada"], to: ["city": cities[1], "badge": badges[1]])
        let newItems = try ["r", "s"].map {
            try register.insertion("Item", ["text": .string($0)], to: ["owner": new.id])
        }
        var request = register.request([new] + newItems)
        request.insertions[0].destinations[try register.slot("boss", "Party")] = new.id
        request.updates = [
            try register.fixture.update(badges[1], to: ["bearer": new.id]),
            try register.fixture.update(friend, to: ["boss": new.id]),
        ]
        let party = try register.fixture.entity("Party")
        func slot(_ name: String) throws -> Int { try #require(party.relationship(named: name)).slot }
        request.links = [
            .init(owner: new.id, slot: try slot("items"), order: [newItems[1].id, newItems[0].id]),
            .init(owner: new.id, slot: try slot("clubs"), added: [clubs[1], clubs[2]]),
            .init(owner: new.id, slot: try slot("marks"), order: [cities[0], cities[2]], orderBase: []),
            .init(
                owner: clubs[1], slot: try register.slot("members", "Club"), order: [new.id, friend],
                orderBase: [friend]),
        ]

        let result = try register.fixture.store.save(request)

        #expect(result.insertions[0] == .merged(into: row, version: 2))
        let made = [result.inserted.ids[1], result.inserted.ids[2]]
        let store = register.fixture.store
        let stored = try #require(try store.snapshots(of: [row])[0])
        #expect(stored.destination(at: try slot("city")) == cities[1])
        #expect(stored.destination(at: try slot("badge")) == badges[1])
        #expect(stored.destination(at: try slot("boss")) == row)
        #expect(try register.destination(of: badges[0], "bearer") == nil)
        #expect(try register.destination(of: badges[1], "bearer") == row)
        #expect(try register.destination(of: friend, "boss") == row)
        #expect(try register.fixture.links(cities[0], "parties") == [])
        #expect(try register.fixture.links(cities[1], "parties") == [row])
        #expect(try register.fixture.links(row, "items") == [items[1], items[0], made[1], made[0]])
        #expect(try register.fixture.links(row, "marks") == [cities[1], cities[0], cities[2]])
        #expect(try register.fixture.links(row, "clubs") == clubs)
        #expect(try register.fixture.links(clubs[0], "members") == [row, friend])
        #expect(try register.fixture.links(clubs[1], "members") == [row, friend])
        #expect(try register.fixture.links(clubs[2], "members") == [row])
        #expect(result.changed.contains(badges[0]) && result.changed.contains(cities[0]))
        try register.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `an order that the request gives the row comes before what an insertion brings`(kind: StoreKind) throws {
        let register = try Register(kind)
        let cities = try ["A", "B", "C"].map { try register.insert("City", ["name": .string($0)]) }
        let row = try register.insert("Party", ["name": "Ada"])
        try register.fixture.link(row, "marks", order: [cities[0], cities[1]])
        let new = try register.insertion("Party", ["name": "Ada"])
        let slot = try register.slot("marks", "Party")
        var request = register.request([new])
        request.links = [
            .init(owner: new.id, slot: slot, order: [cities[2], cities[1]], orderBase: []),
            .init(owner: row, slot: slot, order: [cities[1], cities[0]], orderBase: [cities[0], cities[1]]),
        ]
        _ = try register.fixture.store.save(request)
        #expect(try register.fixture.links(row, "marks") == [cities[1], cities[0], cities[2]])
    }

    @Test(arguments: StoreKind.allCases)
    func `keep takes lists and the other end of a one-to-one relationship, but no to-one relationship`(
        kind: StoreKind
    ) throws {
        let register = try Register(kind)
        let cities = try ["A", "B"].map { try register.insert("City", ["name": .string($0)]) }
        let badge = try register.insert("Badge")
        let club = try register.insert("Club")
        let row = try register.insert("Party", ["name": "Ada"], to: ["city": cities[0]])
        let new = try register.insertion("Party", ["name": "Ada"], to: ["city": cities[1], "badge": badge])
        var request = register.request([new], [Register.name: .keep])
        request.updates = [try register.fixture.update(badge, to: ["bearer": new.id])]
        request.links = [.init(owner: new.id, slot: try register.slot("clubs", "Party"), added: [club])]

        let result = try register.fixture.store.save(request)

        #expect(result.inserted.ids == [row] && result.merged == [0])
        #expect(try register.destination(of: row, "city") == cities[0])
        #expect(try register.destination(of: row, "badge") == badge)
        #expect(try register.destination(of: badge, "bearer") == row)
        #expect(try register.fixture.links(cities[1], "parties") == [])
        #expect(try register.fixture.links(club, "members") == [row])
        try register.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `an insertion goes into a row of a subentity, not into one of a superentity`(kind: StoreKind) throws {
        let register = try Register(kind)
        let party = try register.insert("Party", ["name": "Ada"])
        let company = try register.insert("Company", ["name": "Inc", "tax": "1"])
        let new = try register.insertion("Party", ["name": "Inc", "note": "new"])
        let item = try register.insertion("Item", to: ["owner": new.id])

        let result = try register.save([new, item])

        #expect(result.insertions[0] == .merged(into: company, version: 2))
        #expect(try register.destination(of: result.inserted.ids[1], "owner") == company)
        #expect(try register.fixture.value(company, "tax") == .string("1"))
        #expect(try register.text(of: company) == "Inc, none, new, 3")
        let wrong = try register.insertion("Company", ["name": "Ada"])
        #expect(register.conflicts { try register.save([wrong]) }.map(\.other) == [party])
        try register.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `what leads to an insertion by a reserved ID leads to the row`(kind: StoreKind) throws {
        let register = try Register(kind)
        let row = try register.insert("Party", ["name": "Ada"])
        let reserved = try register.fixture.store.reserveIDs(for: register.fixture.entity("Party"), count: 2)
        var request = try register.request([
            register.insertion("Item", to: ["owner": reserved[0]]),
            register.insertion("Party", ["name": "Ada"], to: ["boss": reserved[1]]),
            register.insertion("Party", ["name": "Ada"]), register.insertion("Item", to: ["owner": reserved[1]]),
        ])
        (request.insertions[1].id, request.insertions[2].id) = (reserved[0], reserved[1])

        let result = try register.fixture.store.save(request)

        #expect(result.inserted.ids[1] == row && result.inserted.ids[2] == row && result.merged == [1, 2])
        #expect(try register.destination(of: result.inserted.ids[0], "owner") == row)
        #expect(try register.destination(of: row, "boss") == row)
        #expect(try register.fixture.store.snapshots(of: reserved).allSatisfy { $0 == nil })
        try register.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `an insertion that brings nothing new leaves the version of the row`(kind: StoreKind) throws {
        let register = try Register(kind)
        let row = try register.insert("Party", ["name": "Ada", "note": "same"])
        let new = try register.insertion("Party", ["name": "Ada", "note": "same"])
        #expect(try register.save([new]).insertions == [.merged(into: row, version: 1)])
        #expect(try register.version(of: row) == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `values that are cut in the index are compared as a whole`(kind: StoreKind) throws {
        let register = try Register(kind)
        let long = String(repeating: "long ", count: 300)
        let row = try register.insert("Party", ["name": .string(long + "a")])
        let new = try ["a", "b", "b"].map { try register.insertion("Party", ["name": .string(long + $0)]) }
        let result = try register.save(new)
        #expect(result.inserted.ids[0] == row && result.merged == [0, 2])
        try register.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `an action of a constraint that there is not is refused`(kind: StoreKind) throws {
        let register = try Register(kind)
        let new = try register.insertion("Party", ["name": "Ada"])
        for name in [ConstraintName("Party", ["note"]), ConstraintName("Company", ["name"])] {
            #expect(throws: StoreError.self) { try register.save([new], [name: .merge]) }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a row that comes again under its ID has a version that no row with this ID had`(kind: StoreKind) throws {
        let register = try Register(kind)
        var row = try register.insertion("Party", ["name": "Ada"])
        row.id = try register.fixture.store.reserveIDs(for: register.fixture.entity("Party"), count: 1)[0]
        #expect(try register.save([row]).insertions == [.inserted(version: 1)])
        var last: UInt64 = 1
        for round in 1...4 {
            for _ in 0..<round { try register.fixture.change(row.id, ["note": .string("\(round)")]) }
            last += UInt64(round)
            #expect(try register.version(of: row.id) == last)
            try register.fixture.delete(row.id)
            // The data of an application keep no versions of rows that are gone; only the open store does.
            if round == 2, kind != .outside { try register.fixture.reopen() }
            let result = try register.save([row])
            last += 1
            #expect(result.insertions == [.inserted(version: last)])
        }
        // A row with a new key did not exist before, so its version is 1.
        #expect(try register.save([register.insertion("Party")]).insertions == [.inserted(version: 1)])
        try register.check()
    }
}

/// A store of the register model, with short forms of requests for tests.
struct Register {
    static let name = ConstraintName("Party", ["name"])
    static let code = ConstraintName("Party", ["code"])
    static let mergesAll: [ConstraintName: ConstraintAction] = [
        name: .merge, code: .merge, ConstraintName("City", ["name"]): .merge,
        ConstraintName("Street", ["city", "name"]): .merge,
    ]

    let fixture: StoreFixture

    init(_ kind: StoreKind) throws { fixture = try StoreFixture(kind, RegisterModel.make()) }

    /// An insertion whose other values are the defaults, as in a new object.
    func insertion(
        _ entityName: String, _ values: [String: Literal] = [:], to: [String: ObjectID] = [:]
    ) throws -> SaveRequest.Insertion {
        var all: [String: AttributeValue] = [:]
        for attribute in try fixture.entity(entityName).attributes { all[attribute.name] = attribute.defaultValue }
        return try fixture.insertion(
            entityName, all.merging(values.mapValues(\.value)) { $1 }, to: to)
    }

    func insert(
        _ entityName: String, _ values: [String: Literal] = [:], to: [String: ObjectID] = [:]
    ) throws -> ObjectID {
        try #require(fixture.store.save(request([insertion(entityName, values, to: to)])).inserted.ids.first)
    }

    func request(
        _ insertions: [SaveRequest.Insertion], _ actions: [ConstraintName: ConstraintAction] = mergesAll
    ) -> SaveRequest {
        var request = SaveRequest()
        (request.insertions, request.constraintActions) = (insertions, actions)
        return request
    }

    @discardableResult
    func save(
        _ insertions: [SaveRequest.Insertion], _ actions: [ConstraintName: ConstraintAction] = mergesAll
    ) throws -> SaveResult {
        try fixture.store.save(request(insertions, actions))
    }

    /// The conflicts for which the store refuses `body`.
    func conflicts(_ body: () throws -> Void) -> [ConstraintConflict] {
        let error = #expect(throws: StoreError.self) { try body() }
        guard case .constraint(let conflicts) = error else { return [] }
        return conflicts
    }

    func slot(_ name: String, _ entityName: String) throws -> Int {
        try fixture.relationship(name, of: entityName).slot
    }

    func version(of id: ObjectID) throws -> UInt64? { try fixture.store.snapshots(of: [id])[0]?.version }

    func destination(of id: ObjectID, _ name: String) throws -> ObjectID? {
        try fixture.store.snapshots(of: [id])[0]?.destination(at: slot(name, id.entityName))
    }

    /// Name, code, note and rank of a party as text.
    func text(of id: ObjectID) throws -> String {
        try ["name", "code", "note", "rank"].map { name in
            switch try fixture.value(id, name) {
            case .string(let text)?: text
            case .integer(let number)?: "\(number)"
            default: "none"
            }
        }.joined(separator: ", ")
    }

    /// Expects that the entries, lists and counters of a B-tree store agree with its rows.
    func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
        guard let store = fixture.store as? BTreeStore else { return }
        let report = try store.check()
        #expect(report.isOK, "\(report)", sourceLocation: sourceLocation)
    }

    /// A value as it is written in a test.
    struct Literal: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
        let value: AttributeValue

        init(stringLiteral value: String) { self.value = .string(value) }
        init(integerLiteral value: Int64) { self.value = .integer(value) }
        static func string(_ text: String) -> Literal { Literal(stringLiteral: text) }
        static func integer(_ number: Int64) -> Literal { Literal(integerLiteral: number) }
    }
}
