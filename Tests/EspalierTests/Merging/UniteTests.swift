// Uniting a new object with another one before a save: what becomes of values, relationships and references, whatever
// the context has of the row.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct UniteTests {
    @Test(arguments: StoreKind.allCases, MergedObjectTests.Known.allCases)
    func `a new object and the object of a row become one`(_ kind: StoreKind, _ known: MergedObjectTests.Known) throws {
        for action in [ConstraintAction.merge, .keep] {
            let list = try GuestList(kind)
            let id = try list.store("Guest", ["name": .string("Ada"), "note": .string("old"), "rank": .integer(9)])
            let row = known == .nothing ? nil : try list.context.object(with: id)
            if known == .clean || known == .changed { #expect(row?.guestText == "Ada, none, old, 9") }
            if known == .changed { try row?.setValue(.integer(8), forKey: "rank") }
            let new = try list.make("Guest", ["name": .string("Ada"), "code": .integer(4), "note": .string("new")])
            let (gift, led) = (try list.make("Gift"), try list.make("Guest"))
            try gift.relate("guest", to: new)
            try led.relate("host", to: new)

            let united = try list.context.unite(new, with: id, action)

            #expect(united === (row ?? new) && united.objectID == id && new.objectID == id)
            #expect(!united.isInserted && list.context.insertedObjects == [gift, led])
            let rank = known == .changed ? 8 : 9
            let expected = action == .merge ? "Ada, 4, new, \(rank)" : "Ada, none, old, \(rank)"
            #expect(united.guestText == expected)
            #expect(try gift.ids("guest") == [id] && united.ids("gifts") == [gift.objectID] && led.ids("host") == [id])
            try list.save()
            #expect(united.guestText == expected)
            #expect(try list.context.count(for: FetchRequest<ManagedObject>(entityName: "Guest")) == 2)
            #expect((new.managedObjectContext == nil) == (row != nil))
        }
    }

    @Test(arguments: StoreKind.allCases, [ConstraintAction.merge, .keep])
    func `both ends of every relationship agree when objects were united`(
        _ kind: StoreKind, _ action: ConstraintAction
    ) throws {
        for known in MergedObjectTests.Known.allCases {
            let list = try GuestList(kind)
            let first = list.newContext()
            let old = try (1...2).map { try list.make("City", ["name": .string("\($0)")], in: first) }
            let stored = try list.make("Guest", ["name": .string("Ada")], in: first)
            let friend = try list.make("Guest", ["name": .string("Bob")], in: first)
            let (oldBadge, oldGift) = (try list.make("Badge", in: first), try list.make("Gift", in: first))
            let clubs = try (0..<2).map { _ in try list.make("Club", in: first) }
            try stored.relate("city", to: old[0])
            try stored.relate("badge", to: oldBadge)
            try stored.add([oldGift], toRelationshipNamed: "gifts")
            for club in clubs { try club.add([friend], toRelationshipNamed: "members") }
            try clubs[0].add([stored], toRelationshipNamed: "members")
            try stored.add([old[1], old[0]], toRelationshipNamed: "marks")
            try first.save()

            func here(_ object: ManagedObject) throws -> ManagedObject {
                try list.context.existingObject(with: object.objectID)
            }
            let everything = try known == .nothing ? [] : (old + [oldBadge, oldGift, stored, friend] + clubs).map(here)
            if known == .changed {
                let here = try here(stored)
                try here.setValue(.toMany([try list.context.existingObject(with: old[0].objectID)]), forKey: "marks")
                try here.add([try list.make("Gift")], toRelationshipNamed: "gifts")
            }
            let gifts = try (0..<2).map { _ in try list.make("Gift") }
            let (city, badge) = (try here(old[1]), try list.make("Badge"))
            let new = try list.make("Guest", ["name": .string("Ada")])
            try new.relate("city", to: city)
            try new.relate("badge", to: badge)
            try new.relate("host", to: new)
            try here(friend).relate("host", to: new)
            try new.add([gifts[1], gifts[0]], toRelationshipNamed: "gifts")
            for club in clubs {
                let members = try here(club).ids("members").map { try list.context.existingObject(with: $0) }
                try here(club).setValue(.toMany([new] + members), forKey: "members")
            }
            try new.setValue(.toMany([city, try here(old[0])]), forKey: "marks")
            try new.add([try here(friend)], toRelationshipNamed: "friends")

            let united = try list.context.unite(new, with: stored.objectID, action)

            let before = try united.entity.relationships.map { try united.ids($0.name).count }
            #expect(try united.ids("badge") == [badge.objectID] && badge.ids("bearer") == [united.objectID])
            #expect(try here(oldBadge).ids("bearer") == [])
            #expect(try here(clubs[0]).ids("members").first == united.objectID)
            #expect(try here(clubs[0]).ids("members").count == 2 && here(clubs[1]).ids("members").count == 2)
            #expect(try here(friend).ids("host") == [united.objectID])
            #expect(try united.ids("gifts").suffix(2) == [gifts[1].objectID, gifts[0].objectID])
            #expect(try Set(united.ids("marks")) == Set(old.map(\.objectID)))
            let isMerged = action == .merge
            #expect(try united.ids("city") == [isMerged ? city.objectID : old[0].objectID])
            #expect(try here(old[0]).ids("guests") == (isMerged ? [] : [united.objectID]))
            #expect(try city.ids("guests") == (isMerged ? [united.objectID] : []))
            #expect(try united.ids("host") == (isMerged ? [united.objectID] : []))
            try list.save()
            #expect(try united.entity.relationships.map { try united.ids($0.name).count } == before)
            withExtendedLifetime(everything) {}
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `new objects that are united are inserted once`(_ kind: StoreKind) throws {
        let list = try GuestList(kind)
        list.context.constraintActions = [:]
        let (first, second) = (
            try list.make("Guest", ["name": .string("Ada"), "rank": .integer(1)]),
            try list.make("Guest", ["name": .string("Ada"), "note": .string("second")])
        )
        let (gift, city) = (try list.make("Gift"), try list.make("City"))
        try gift.relate("guest", to: second)
        try second.relate("city", to: city)
        #expect(try list.context.unite(second, with: first.objectID) === first)
        #expect(second.managedObjectContext == nil && first.guestText == "Ada, none, second, 1")
        try list.save()
        #expect(try gift.ids("guest") == [first.objectID] && city.ids("guests") == [first.objectID])
    }

    @Test(arguments: StoreKind.allCases)
    func `what is deleted here or gone, and what is no subentity, takes no object, and nothing changes`(
        _ kind: StoreKind
    ) throws {
        let list = try GuestList(kind)
        let ids = try ["Ada", "Bob", "Eva"].map { try list.store("Guest", ["name": .string($0)]) }
        try list.context.delete(list.context.existingObject(with: ids[0]))
        let gone = try list.context.object(with: ids[1])
        let other = list.newContext()
        try other.delete(other.existingObject(with: ids[1]))
        try other.save()
        let patron = try list.make("Patron", ["name": .string("Ada"), "note": .string("new")])
        let gift = try list.make("Gift")
        try gift.relate("guest", to: patron)
        let city = try list.store("City")
        for id in ids + [city, ObjectID(temporaryFor: patron.entity), patron.objectID] {
            #expect(contextError { try list.context.unite(patron, with: id) } != nil)
        }
        #expect(contextError { try list.context.unite(gift, with: patron.objectID) } != nil)
        #expect(patron.isInserted && patron[attribute: "note"] == .string("new"))
        #expect(try gift.ids("guest") == [patron.objectID])
        try list.save()
        #expect(!ids.contains(patron.objectID) && gone.objectID == ids[1])
    }

    @Test(arguments: StoreKind.allCases)
    func `a failed save puts united objects back as they were, and rollback gives up what was brought`(
        _ kind: StoreKind
    ) throws {
        for isKnown in [false, true] {
            let list = try GuestList(kind)
            list.context.constraintActions = [:]
            let id = try list.store("Guest", ["name": .string("Ada"), "note": .string("old")])
            _ = try list.store("Guest", ["name": .string("Bob"), "code": .integer(1)])
            let row = isKnown ? try list.context.existingObject(with: id) : nil
            let new = try list.make("Guest", ["name": .string("Ada"), "code": .integer(1)])
            let united = try list.context.unite(new, with: id)
            for _ in 0..<2 {
                guard case .constraints(let conflicts)? = contextError({ try list.context.save() }) else {
                    Issue.record("no conflict")
                    return
                }
                #expect(conflicts.map(\.objects) == [[id]])
                #expect(united.guestText == "Ada, 1, old, 3" && list.context.updatedObjects == [united])
            }
            list.context.rollback()
            #expect(united.guestText == "Ada, none, old, 3" && !list.context.hasChanges)
            #expect(list.context.registeredObject(for: id) === united)
            withExtendedLifetime(row) {}
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a hook may unite, and what it did is taken back with the save that fails`(_ kind: StoreKind) throws {
        let list = try GuestList(kind)
        list.context.constraintActions = [:]
        let id = try list.store("Guest", ["name": .string("Ada"), "note": .string("old")])
        _ = try list.store("Guest", ["name": .string("Bob"), "code": .integer(1)])
        let row = try list.context.existingObject(with: id)
        let new = try list.make("Guest", ["name": .string("Ada"), "code": .integer(1), "note": .string("new")])
        let former = new.objectID
        let gift = try list.make("Gift")
        try gift.relate("guest", to: new)
        let token = list.context.addObserver(for: ManagedObjectContext.WillSaveMessage.self) { message in
            // A hook that cannot unite leaves the conflict to the save.
            _ = try? message.context.unite(new, with: id)
        }
        #expect(contextError { try list.context.save() } != nil)
        #expect(new.managedObjectContext === list.context && new.objectID == former && new.isInserted)
        #expect(new.guestText == "Ada, 1, new, 3" && row.guestText == "Ada, none, old, 3")
        #expect(try gift.ids("guest") == [former] && new.ids("gifts") == [gift.objectID])
        #expect(list.context.insertedObjects == [new, gift] && !row.hasChanges)
        try new.setValue(.null, forKey: "code")
        try list.save()
        #expect(new.objectID == id && row.guestText == "Ada, none, new, 3" && new.managedObjectContext == nil)
        #expect(try gift.ids("guest") == [id])
        withExtendedLifetime(token) {}
    }

    @Test(arguments: StoreKind.allCases)
    func `a new destination that is deleted after a merge leaves nothing behind in the list`(_ kind: StoreKind) throws {
        let list = try GuestList(kind)
        let id = try list.store("Guest", ["name": .string("Ada")])
        list.context.automaticallyMergesChangesFromParent = true
        let guest = try list.context.existingObject(with: id)
        let friend = try list.make("Guest")
        try guest.add([friend], toRelationshipNamed: "friends")
        let other = list.newContext()
        try other.existingObject(with: id).setValue(.string("theirs"), forKey: "note")
        try other.save()
        list.context.processPendingChanges()
        try list.context.delete(friend)
        try list.save()
        #expect(try guest.ids("friends") == [] && guest[attribute: "note"] == .string("theirs"))
    }
}
