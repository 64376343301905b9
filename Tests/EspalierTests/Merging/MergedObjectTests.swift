// New objects that a save merges into stored rows: which object stands for the row afterwards, and what it reads.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct MergedObjectTests {
    /// The state in the context of the row that a new object goes into.
    enum Known: CaseIterable {
        case nothing, fault, clean, changed
    }

    @Test(arguments: StoreKind.allCases, Known.allCases)
    func `after a save there is one object for the row, which has what the new one brought`(
        _ kind: StoreKind, _ known: Known
    ) throws {
        let list = try GuestList(kind)
        let id = try list.store("Guest", ["name": .string("Ada"), "note": .string("old"), "rank": .integer(9)])
        let row = known == .nothing ? nil : try list.context.object(with: id)
        if known == .clean || known == .changed { #expect(row?.guestText == "Ada, none, old, 9") }
        if known == .changed { try row?.setValue(.integer(8), forKey: "rank") }
        let gift = try list.make("Gift")
        let new = try list.make("Guest", ["name": .string("Ada"), "code": .integer(4), "note": .string("new")])
        try gift.relate("guest", to: new)
        try new.add([new], toRelationshipNamed: "friends")

        try list.save()

        #expect(new.objectID == id && !list.context.hasChanges)
        let object = try #require(list.context.registeredObject(for: id))
        #expect(object === (row ?? new))
        #expect(object.guestText == (known == .changed ? "Ada, 4, new, 8" : "Ada, 4, new, 9"))
        #expect(try gift.ids("guest") == [id] && object.ids("gifts") == [gift.objectID])
        #expect(try object.ids("friends") == [id])
        #expect(list.context.registeredObjects == [object, gift])
        #expect(try list.context.count(for: FetchRequest<ManagedObject>(entityName: "Guest")) == 1)
        // The one that gave way reads what it was merged into, and says where that is.
        #expect((new.managedObjectContext == nil) == (row != nil))
        #expect(new.guestText == object.guestText && !new.isInserted && !new.hasChanges)
        guard row != nil else { return }
        for error in [
            contextError { try new.setValue(.integer(1), forKey: "rank") },
            contextError { try gift.relate("guest", to: new) },
        ] {
            guard case .violations(let found)? = error, case .objectIsMerged(into: id)? = found.first?.reason else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        try object.setValue(.string("after"), forKey: "note")
        try list.save()
        #expect(object[attribute: "note"] == .string("after"))
    }

    @Test(arguments: StoreKind.allCases, [ConstraintAction.merge, .keep])
    func `both ends of every relationship agree when an object was merged`(
        _ kind: StoreKind, _ action: ConstraintAction
    ) throws {
        for isKnown in [false, true] {
            let list = try GuestList(kind)
            let first = list.newContext()
            let old = try (1...2).map { try list.make("City", ["name": .string("\($0)")], in: first) }
            let oldBadge = try list.make("Badge", in: first)
            let oldGift = try list.make("Gift", in: first)
            let oldClub = try list.make("Club", in: first)
            let stored = try list.make("Guest", ["name": .string("Ada")], in: first)
            let friend = try list.make("Guest", ["name": .string("Bob")], in: first)
            try stored.relate("city", to: old[0])
            try stored.relate("badge", to: oldBadge)
            try stored.add([oldGift], toRelationshipNamed: "gifts")
            try oldClub.add([friend, stored], toRelationshipNamed: "members")
            try stored.add([old[1], old[0]], toRelationshipNamed: "marks")
            try first.save()

            let context = list.context
            context.constraintActions = action == .merge ? GuestList.mergesAll : GuestList.keepsAll
            func here(_ object: ManagedObject) throws -> ManagedObject {
                try context.existingObject(with: object.objectID)
            }
            var kept: [ManagedObject] = []
            if isKnown {
                for object in old + [oldBadge, oldGift, oldClub, stored, friend] {
                    let object = try here(object)
                    kept.append(object)
                    for relationship in object.entity.relationships { _ = try object.ids(relationship.name) }
                }
            }
            let (city, badge) = (try here(old[1]), try list.make("Badge"))
            let new = try list.make("Guest", ["name": .string("Ada"), "note": .string("new")])
            let (gifts, club) = (try (0..<2).map { _ in try list.make("Gift") }, try here(oldClub))
            try new.relate("city", to: city)
            try new.relate("badge", to: badge)
            try new.relate("host", to: new)
            try here(friend).relate("host", to: new)
            try new.add([gifts[1], gifts[0]], toRelationshipNamed: "gifts")
            try club.setValue(.toMany([new, try here(friend)]), forKey: "members")
            try new.setValue(.toMany([try here(old[0])]), forKey: "marks")
            try new.add([try here(friend)], toRelationshipNamed: "friends")

            try list.save()

            let object = try context.existingObject(with: stored.objectID)
            #expect(new.objectID == object.objectID)
            #expect(try object.ids("badge") == [badge.objectID] && badge.ids("bearer") == [object.objectID])
            #expect(try here(oldBadge).ids("bearer") == [])
            #expect(try object.ids("gifts") == [oldGift.objectID, gifts[1].objectID, gifts[0].objectID])
            #expect(try object.ids("marks") == [old[1].objectID, old[0].objectID])
            #expect(try object.ids("friends") == [friend.objectID])
            #expect(try here(friend).ids("host") == [object.objectID])
            let isMerged = action == .merge
            #expect(try object.ids("city") == [isMerged ? city.objectID : old[0].objectID])
            #expect(try here(old[0]).ids("guests") == (isMerged ? [] : [object.objectID]))
            #expect(try city.ids("guests") == (isMerged ? [object.objectID] : []))
            #expect(try club.ids("members").contains(object.objectID))
            list.context.compareWithFreshContext()
            withExtendedLifetime(kept) {}
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `of equal new objects the first stays, and what leads to the others leads to it`(_ kind: StoreKind) throws {
        let list = try GuestList(kind)
        let guests = try (0..<3).map { try list.make("Guest", ["name": .string("Ada"), "rank": .integer(Int64($0))]) }
        let gifts = try guests.map { guest in
            let gift = try list.make("Gift")
            try gift.relate("guest", to: guest)
            return gift
        }
        try list.save()
        #expect(guests[0].managedObjectContext === list.context && guests[0].guestText == "Ada, none, none, 2")
        #expect(guests[1...].allSatisfy { $0.managedObjectContext == nil && $0.objectID == guests[0].objectID })
        #expect(try guests[0].ids("gifts") == gifts.map(\.objectID))
    }

    @Test(arguments: StoreKind.allCases)
    func `a new object takes the place of one that the same save deletes, and of one it renames`(
        _ kind: StoreKind
    ) throws {
        let list = try GuestList(kind)
        let ids = try ["Ada", "Bob"].map { try list.store("Guest", ["name": .string($0)]) }
        try list.context.delete(list.context.existingObject(with: ids[0]))
        try list.context.existingObject(with: ids[1]).setValue(.string("Eva"), forKey: "name")
        let new = try ["Ada", "Bob", "Eva"].map { try list.make("Guest", ["name": .string($0)]) }
        try list.save()
        #expect(new[0].managedObjectContext != nil && new[0].objectID != ids[0])
        #expect(new[1].managedObjectContext != nil && new[1].objectID != ids[1])
        #expect(new[2].managedObjectContext == nil && new[2].objectID == ids[1])
    }

    @Test(arguments: StoreKind.allCases)
    func `a save that is refused leaves new objects new`(_ kind: StoreKind) throws {
        let list = try GuestList(kind)
        let ids = try ["Ada", "Bob"].map { name in
            try list.store("Guest", ["name": .string(name), "code": .integer(name == "Ada" ? 1 : 2)])
        }
        let good = try list.make("Guest", ["name": .string("Ada"), "note": .string("new")])
        let bad = try list.make("Guest", ["name": .string("Bob"), "code": .integer(1)])
        guard case .constraints(let conflicts)? = contextError({ try list.context.save() }) else {
            Issue.record("no conflict")
            return
        }
        #expect(Set(conflicts.map(\.objects)) == [[bad.objectID]] && Set(conflicts.map(\.stored)) == Set(ids))
        #expect(list.context.insertedObjects == [good, bad] && good.objectID.isTemporary)
        try bad.setValue(.null, forKey: "code")
        try list.save()
        #expect(good.objectID == ids[0] && bad.objectID == ids[1])
    }

    @Test(arguments: StoreKind.allCases)
    func `others are told of an update, and observers of one object that was merged`(_ kind: StoreKind) throws {
        let list = try GuestList(kind)
        let id = try list.store("Guest", ["name": .string("Ada")])
        let other = list.newContext()
        other.automaticallyMergesChangesFromParent = true
        let theirs = try other.existingObject(with: id)
        let mine = try list.context.existingObject(with: id)
        var told: ManagedObjectContext.DidSaveMessage?
        var changed: ManagedObjectContext.ObjectsDidChangeMessage?
        let tokens = [
            list.context.addObserver(for: ManagedObjectContext.DidSaveMessage.self) { told = $0 },
            list.context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { changed = $0 },
        ]
        let new = try list.make("Guest", ["name": .string("Ada"), "note": .string("new")])
        let third = try list.make("Guest", ["name": .string("Bob")])

        try list.save()
        other.processPendingChanges()

        #expect(told?.changes.inserted == [third.objectID] && told?.changes.updated == [id])
        #expect(told?.inserted == [third] && told?.updated == [mine] && told?.deleted == [])
        #expect(changed?.inserted == [third] && changed?.refreshed == [mine])
        #expect(changed?.updated.contains(new) == false && changed?.invalidated == [])
        #expect(theirs[attribute: "note"] == .string("new"))
        withExtendedLifetime(tokens) {}
    }

    @Test func `an object is merged within its own store`() throws {
        let list = try GuestList(.inMemory)
        let other = InMemoryStore(model: list.store.model)
        list.coordinator.add(other, entityNames: ["City"])
        let city = try list.store("City", ["name": .string("Turin")])
        let guest = try list.store("Guest", ["name": .string("Ada")])
        let new = try [
            list.make("City", ["name": .string("Turin")]), list.make("Guest", ["name": .string("Ada")]),
            list.make("Guest", ["name": .string("Turin")]),
        ]
        try list.save()
        #expect(new[0].objectID == city && new[1].objectID == guest && ![city, guest].contains(new[2].objectID))
    }

    @Test(arguments: StoreKind.allCases)
    func `a new object goes into an object of a subentity`(_ kind: StoreKind) throws {
        let list = try GuestList(kind)
        let id = try list.store("Patron", ["name": .string("Ada"), "sum": .integer(5)])
        let new = try list.make("Guest", ["name": .string("Ada"), "note": .string("new")])
        let gift = try list.make("Gift")
        try gift.relate("guest", to: new)
        try list.save()
        let object = try list.context.existingObject(with: id)
        #expect(object.entity.name == "Patron" && object !== new && new.managedObjectContext == nil)
        #expect(object[attribute: "note"] == .string("new") && new.objectID == id)
        #expect(try gift.ids("guest") == [id])
    }

    @Test(arguments: StoreKind.allCases)
    func `a third context sees that a row is another one which came again under its ID`(_ kind: StoreKind) throws {
        let list = try GuestList(kind)
        let id = try list.store("Guest", ["name": .string("Ada"), "note": .string("first")])
        let contexts = [list.context, list.newContext(), list.newContext()]
        let objects = try contexts.map { try $0.existingObject(with: id) }
        for (object, note) in zip(objects, ["again", "", "late"]) { try object.setValue(.string(note), forKey: "note") }
        try contexts[1].delete(objects[1])
        try contexts[1].save()
        contexts[0].mergePolicy = .objectTrump
        try contexts[0].saveAndCompare()
        #expect(objects[0].objectID == id)

        guard case .conflicts(let found)? = contextError({ try contexts[2].save() }) else {
            Issue.record("the third context has overwritten what came again")
            return
        }
        #expect(found.map(\.object) == [id] && found.first?.properties.first?.stored == .string("again"))
        #expect(try list.newContext().existingObject(with: id)[attribute: "note"] == .string("again"))
        contexts[2].mergePolicy = .storeTrump
        try contexts[2].saveAndCompare()
        #expect(objects[2][attribute: "note"] == .string("again"))
    }
}
