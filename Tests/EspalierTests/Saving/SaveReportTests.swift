// One report for all kinds of findings: broken rules, conflicts and values that must be unique (F-5).

import Espalier
import EspalierModel
import EspalierStore
import Synchronization
import Testing

@Suite struct SaveReportTests {
    /// A list whose context has each of these findings.
    private func list(
        _ kind: StoreKind, rules: Bool, conflicts: Bool, constraints: Bool, _ policy: MergePolicy = .error
    ) throws -> GuestList {
        let list = try GuestList(kind)
        let context = list.context
        context.constraintActions = [:]
        context.mergePolicy = policy
        let ids = try ["Ada", "Bob", "Eva"].map { try list.store("Guest", ["name": .string($0)]) }
        if conflicts {
            let other = list.newContext()
            let guest = try context.existingObject(with: ids[0])
            try other.existingObject(with: ids[0]).setValue(.string("theirs"), forKey: "note")
            try guest.setValue(.string("mine"), forKey: "note")
            try other.save()
        }
        if constraints {
            _ = try list.make("Guest", ["name": .string("Bob")])
            try context.existingObject(with: ids[2]).setValue(.string("Bob"), forKey: "name")
        }
        if rules { _ = try list.make("Guest", ["rank": .integer(40_000)]) }
        return list
    }

    private func kinds(_ error: ContextError?) -> [Int] {
        guard case .several(let errors)? = error else { return error.map { [$0.code] } ?? [] }
        return errors.map(\.code)
    }

    @Test(arguments: StoreKind.allCases)
    func `a save that fails for several kinds of reasons tells all of them at once (F-5)`(_ kind: StoreKind) throws {
        for number in 0..<8 {
            let (rules, conflicts, constraints) = (number & 1 != 0, number & 2 != 0, number & 4 != 0)
            let list = try list(kind, rules: rules, conflicts: conflicts, constraints: constraints)
            let before = (list.context.insertedObjects, list.context.updatedObjects)

            let error = contextError { try list.context.save() }

            let expected = (rules ? [1610] : []) + (conflicts ? [133020] : []) + (constraints ? [133021] : [])
            #expect(kinds(error) == expected, "\(number): \(String(describing: error))")
            if expected.count > 1 { #expect(error?.code == 1560) }
            #expect((list.context.insertedObjects, list.context.updatedObjects) == before)
            #expect(list.context.recordedViolations.isEmpty)
            guard constraints, let error else { continue }
            let all = if case .several(let errors) = error { errors } else { [error] }
            guard case .constraints(let found)? = all.last else { continue }
            #expect(found.count == 1 && found[0].objects.count == 2 && found[0].stored != nil)
            #expect(error.messages(MessageTable([133021: "{entity} {property}"])).last == "Guest name")
        }
    }

    @Test func `the application's table has the values and remedies of conflicts and constraints (F-5)`() throws {
        let list = try list(.inMemory, rules: false, conflicts: true, constraints: true)
        let error = try #require(contextError { try list.context.save() })
        var table = MessageTable(
            [133020: "{entity}.{property} = {value}: {remedy}", 133021: "{property} = {value}: {remedy}"],
            names: ["Guest": "Gast", ".note": "Notiz"],
            remedies: [133020: "{property} neu laden", 133021: "anders nennen"])

        #expect(
            error.messages(table) == ["Gast.Notiz = \"mine\": Notiz neu laden", "name = \"Bob\": anders nennen"])
        let conflict = try #require(error.conflicts.first)
        #expect(conflict.remedy.contains("refresh(_:mergesChanges:)") && "\(conflict)".hasSuffix(conflict.remedy))
        table.remedies = [:]
        #expect(error.messages(table).first == "Gast.Notiz = \"mine\": \(conflict.remedy)")
    }

    @Test(arguments: StoreKind.allCases)
    func `what a policy would resolve is not in the report`(_ kind: StoreKind) throws {
        for policy in [MergePolicy.objectTrump, .storeTrump, .overwrite, .rollback] {
            let list = try list(kind, rules: true, conflicts: true, constraints: true, policy)
            #expect(kinds(contextError { try list.context.save() }) == [1610], "\(policy)")
        }
        let list = try list(kind, rules: true, conflicts: true, constraints: true)
        try list.context.setMergePolicy(.objectTrump, forEntityNamed: "City")
        #expect(kinds(contextError { try list.context.save() }) == [1610, 133020, 133021])
    }

    @Test(arguments: StoreKind.allCases)
    func `after a report of several kinds each can be corrected, and the save succeeds`(_ kind: StoreKind) throws {
        let list = try list(kind, rules: true, conflicts: true, constraints: true)
        let context = list.context
        guard case .several(let errors)? = contextError({ try context.save() }) else {
            Issue.record("one kind")
            return
        }
        for case .violations(let violations) in errors {
            for id in violations.compactMap(\.object) {
                try context.registeredObject(for: id)?.setValue(.integer(1), forKey: "rank")
            }
        }
        for case .constraints(let conflicts) in errors {
            for (number, id) in conflicts.flatMap(\.objects).enumerated() {
                try context.registeredObject(for: id)?.setValue(.string("new \(number)"), forKey: "name")
            }
        }
        context.refreshAllObjects()
        try list.save()
    }

    @Test(arguments: StoreKind.allCases)
    func `conflicts that a merge has found are told with those that the save finds (F-5)`(_ kind: StoreKind) throws {
        let list = try GuestList(kind)
        let ids = try ["Ada", "Bob", "Eva"].map { try list.store("Guest", ["name": .string($0)]) }
        let (context, other) = (list.context, list.newContext())
        let guests = try ids.map { try context.existingObject(with: $0) }
        for guest in guests[..<2] { try guest.setValue(.string("mine"), forKey: "note") }
        try context.detectConflicts(for: guests[2])
        for id in ids {
            try other.existingObject(with: id).setValue(.string("theirs"), forKey: "note")
            try other.save()
            // Only the first of the three is merged below its change.
            if id == ids[0] { context.refresh(guests[0], mergesChanges: true) }
        }

        let error = contextError { try context.save() }

        #expect(Set((error?.conflicts ?? []).map(\.object)) == Set(ids), "\(String(describing: error))")
        context.refreshAllObjects()
        try list.save()
        #expect(guests.map { $0[attribute: "note"] } == ["mine", "mine", "theirs"].map { .string($0) })
    }

    @Test func `a child reports rules and conflicts together, and leaves unique values to its root`() throws {
        let list = try GuestList(.inMemory)
        let id = try list.store("Guest", ["name": .string("Ada")])
        list.context.constraintActions = [:]
        let child = ManagedObjectContext(parent: list.context)
        child.automaticallyMergesChangesFromParent = false
        let guest = try child.existingObject(with: id)
        try guest.setValue(.string("mine"), forKey: "note")
        try list.context.existingObject(with: id).setValue(.string("theirs"), forKey: "note")
        _ = try list.make("Guest", ["name": .string("Ada"), "rank": .integer(40_000)], in: child)
        #expect(kinds(contextError { try child.save() }) == [1610, 133020])
    }

    // MARK: Many findings

    /// Inserts 1,500 playlists, each with a name of its own or all with one name.
    @discardableResult
    private func makePlaylists(_ stack: Stack, haveOneName: Bool) -> [Playlist] {
        let owner = Listener(context: stack.context)
        owner.name = "Ann"
        return (0..<1500).map { number in
            let playlist = Playlist(context: stack.context)
            (playlist.name, playlist.owner) = (haveOneName ? "Evening" : "List \(number)", owner)
            return playlist
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a refused save tells the first 1,000 values that rows have and counts the others`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        makePlaylists(stack, haveOneName: false)
        try stack.context.save()
        makePlaylists(stack, haveOneName: false)
        let reads = Mutex(0)
        stack.context.requestLog = RequestLog(.requests) { record in
            if record.kind == .rows { reads.withLock { $0 += 1 } }
        }

        let error = contextError { try stack.context.save() }

        stack.context.requestLog = nil
        guard case .constraints(let found)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found.count == 1001 && found.prefix(1000).allSatisfy { $0.moreCount == 0 && $0.objects.count == 1 })
        #expect(Set(found.compactMap(\.stored)).count == 1000)
        #expect(found.prefix(1000).allSatisfy { $0.storedValues["name"] == $0.values[0] && $0.objectValues.count == 1 })
        let last = try #require(found.last)
        #expect(last.moreCount == 500 && last.objects.isEmpty && last.values.isEmpty && last.entityName == "Playlist")
        #expect("\(last)".hasPrefix("and 500 more") && "\(ContextError.constraints(found))".contains("and 1450 more"))
        #expect(last.message(MessageTable([133021: "{value}"])) == "\(last)")
        let readCount = reads.withLock { $0 }
        #expect(readCount > 0 && readCount < 20, "\(readCount) reads of rows")
    }

    @Test func `a refused save tells the values of 1,000 of the objects that share a value`() throws {
        let stack = try Stack(.inMemory)
        let playlists = makePlaylists(stack, haveOneName: true)

        let error = contextError { try stack.context.save() }

        guard case .constraints(let found)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found.count == 1 && found[0].moreCount == 0)
        #expect(Set(found[0].objects) == Set(playlists.map(\.objectID)) && found[0].objectValues.count == 1000)
    }

    @Test(arguments: [1001, 1500])
    func `a refused save tells the first 1,000 conflicts whole, and a refresh does not settle the others`(
        _ count: Int
    ) throws {
        let stack = try Stack(.inMemory)
        let mine = (0..<count).map { number in
            let track = Track(context: stack.context)
            track.name = "\(number)"
            return track
        }
        try stack.context.save()
        let other = stack.newContext()
        for track in try other.fetch(FetchRequest<Track>()) { track.seconds = 1 }
        try other.save()
        for track in mine { track.seconds = 2 }
        stack.context.mergePolicy = .error

        let error = contextError { try stack.context.save() }

        guard case .conflicts(let found)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found.count == 1001 && found.prefix(1000).allSatisfy { $0.moreCount == 0 })
        #expect(found.prefix(1000).allSatisfy { $0["seconds"]?.stored == .integer(1) })
        let last = try #require(found.last)
        #expect(last.moreCount == count - 1000 && last.properties.isEmpty)
        #expect(Set(found.map(\.object)).count == 1001)
        #expect("\(last)".hasPrefix("and \(count - 1000) more"))
        #expect("\(ContextError.conflicts(found))".contains("and \(count - 50) more"))

        // Nobody has seen the other side's values of those that were only counted.
        stack.context.refreshAllObjects()
        guard case .conflicts(let others)? = contextError({ try stack.context.save() }) else {
            Issue.record("the conflicts that were only counted are settled")
            return
        }
        #expect(others.count == count - 1000)
        #expect(others.allSatisfy { $0.moreCount == 0 && $0["seconds"]?.stored == .integer(1) })
        #expect(Set(others.map(\.object)).isDisjoint(with: found.prefix(1000).map(\.object)))

        stack.context.refreshAllObjects()
        try stack.context.save()
        #expect(try stack.stored(Track.self).allSatisfy { $0.seconds == 2 })
    }
}
