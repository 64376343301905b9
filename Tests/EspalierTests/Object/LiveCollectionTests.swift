// Live collections of to-many relationships: their answers, changes and refusals, and the rows that they do not load.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct LiveCollectionTests {
    /// A context with a saved boss, after another context has saved `count` reports of that boss.
    private func makeTeam(_ kind: StoreKind, reports count: Int) throws -> (Stack, Member) {
        let stack = try Stack(kind, classes: teamClasses)
        let writer = stack.newContext()
        let boss = Member(context: writer)
        for number in 1...count {
            let member = Member(context: writer)
            (member.number, member.boss) = (number, boss)
        }
        try writer.save()
        let found = try stack.context.existingObject(with: boss.objectID)
        return (stack, try #require(found as? Member))
    }

    @Test(arguments: StoreKind.allCases)
    func `a member is inserted, sought, counted and removed, and no list is read for it`(_ kind: StoreKind) throws {
        let (stack, boss) = try makeTeam(kind, reports: 300)
        let (new, stranger) = (Member(context: stack.context), Member(context: stack.context))
        let request = FetchRequest<Member>(try FetchPredicate(format: "number == 7"))
        let seventh = try #require(try stack.context.fetch(request).first)

        let insertion = boss.reports.insert(new)
        #expect(insertion.inserted && insertion.memberAfterInsert === new && new.boss === boss)
        #expect(!boss.reports.insert(new).inserted)
        #expect(boss.reports.count == 301 && !boss.reports.isEmpty)
        #expect(boss.reports.contains(new) && boss.reports.contains(seventh) && !boss.reports.contains(stranger))
        #expect(boss.reports.remove(seventh) === seventh && seventh.boss == nil)
        #expect(boss.reports.remove(seventh) == nil && boss.reports.count == 300)
        boss.reports.formUnion([seventh, stranger, new])
        #expect(boss.reports.count == 302)
        boss.reports.subtract([stranger, seventh, stranger])
        #expect(boss.reports.count == 300 && boss.hasFault(forRelationshipNamed: "reports"))
        try stack.context.save()
        #expect(boss.reports.count == 300 && boss.hasFault(forRelationshipNamed: "reports"))

        #expect(Set(boss.reports).count == 300 && !boss.hasFault(forRelationshipNamed: "reports"))
        #expect(try stack.stored(Member.self).first { $0.objectID == boss.objectID }?.reports.count == 300)
    }

    @Test(arguments: StoreKind.allCases)
    func `a set to which another context has added the same object counts it once`(_ kind: StoreKind) throws {
        let (stack, boss) = try makeTeam(kind, reports: 1)
        let writer = stack.newContext()
        let skills = (0..<3).map { _ in Skill(context: writer) }
        try writer.save()
        try stack.context.setQueryGeneration(from: nil)
        let other = try #require(try writer.existingObject(with: boss.objectID) as? Member)
        let own = try skills.map { try #require(try stack.context.existingObject(with: $0.objectID) as? Skill) }
        boss.marks.insert(own[0])
        #expect(boss.marks.count == 1)

        other.marks = [skills[0], skills[1]]
        try writer.save()
        stack.context.refresh(boss, mergesChanges: true)

        #expect(boss.marks.count == 2 && Set(boss.marks) == [own[0], own[1]])
        boss.marks.insert(own[2])
        #expect(boss.marks.count == 3)
        try stack.context.save()
        #expect(boss.marks.count == 3 && Set(boss.marks) == Set(own))
    }

    @Test(arguments: StoreKind.allCases)
    func `an ordered collection changes anywhere, and each object stands in it once`(_ kind: StoreKind) throws {
        let stack = try Stack(kind, classes: teamClasses)
        let member = Member(context: stack.context)
        let duties = (0..<6).map { number in
            let duty = Duty(context: stack.context)
            duty.number = number
            return duty
        }
        func numbers() -> [Int] { member.duties.map(\.number) }

        member.duties.append(duties[0])
        member.duties.append(contentsOf: [duties[1], duties[0], duties[2]])
        member.duties.insert(duties[3], at: 0)
        member.duties.insert(contentsOf: [duties[4], duties[3], duties[5]], at: 2)
        #expect(numbers() == [3, 0, 4, 5, 1, 2])
        try stack.context.save()
        #expect(member.duties.count == 6 && member.hasFault(forRelationshipNamed: "duties"))
        member.duties.move(from: 0, to: 5)
        #expect(numbers() == [0, 4, 5, 1, 2, 3])
        member.duties.move(from: 4, to: 1)
        #expect(numbers() == [0, 2, 4, 5, 1, 3])
        #expect(member.duties.remove(at: 3) === duties[5] && duties[5].member == nil)
        #expect(member.duties.remove(duties[0]) === duties[0] && member.duties.remove(duties[0]) == nil)
        #expect(numbers() == [2, 4, 1, 3] && member.duties[2] === duties[1])
        #expect(member.duties.first === duties[2] && member.duties.last === duties[3] && member.duties.indices == 0..<4)
        #expect(member.duties.firstIndex(of: duties[3]) == 3 && member.duties.firstIndex(of: duties[5]) == nil)
        try stack.context.save()
        #expect(numbers() == [2, 4, 1, 3])

        let stored = try #require(try stack.stored(Member.self).first)
        #expect(stored.duties.map(\.number) == [2, 4, 1, 3] && stored.duties.firstIndex(of: stored.duties[1]) == 1)
        member.duties.removeAll()
        #expect(member.duties.isEmpty && member.duties.first == nil && member.duties.last == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `a member of an order is replaced at its place, and those that fulfil a condition are removed`(
        _ kind: StoreKind
    ) throws {
        struct Refusal: Error {}
        let stack = try Stack(kind, classes: teamClasses)
        let member = Member(context: stack.context)
        let duties = (0..<5).map { number in
            let duty = Duty(context: stack.context)
            duty.number = number
            return duty
        }
        func numbers() -> [Int] { member.duties.map(\.number) }
        member.duties = OrderedToMany(duties.prefix(4))
        try stack.context.save()

        member.duties.replaceObject(at: 1, with: duties[4])
        #expect(numbers() == [0, 4, 2, 3] && duties[1].member == nil && duties[4].member === member)
        // A member stays where it is.
        member.duties.replaceObject(at: 0, with: duties[3])
        #expect(numbers() == [0, 4, 2, 3])
        try stack.context.save()
        #expect(try stack.stored(Member.self).first?.duties.map(\.number) == [0, 4, 2, 3])

        member.duties.removeAll { $0.number % 4 == 0 }
        #expect(numbers() == [2, 3] && duties[0].member == nil && !duties[0].isDeleted)
        #expect(throws: Refusal.self) { try member.duties.removeAll { _ in throw Refusal() } }
        member.duties.replaceObject(at: 2, with: duties[0])
        let reported = violations { try stack.context.save() }.map(\.description)
        #expect(reported.map { $0.hasSuffix("index 2 is out of range for 2 destinations") } == [true])
        #expect(numbers() == [2, 3] && duties[0].member == nil)
    }

    @Test func `values can be assigned and taken, and do not follow later changes`() throws {
        let stack = try Stack(.inMemory, classes: teamClasses)
        let (one, two) = (Member(context: stack.context), Member(context: stack.context))
        let skills = (0..<4).map { _ in Skill(context: stack.context) }

        one.skills = [skills[0], skills[1]]
        two.skills = one.skills
        let value = Set(one.skills)
        one.skills = ToMany(skills[1...])
        one.queue = [skills[2], skills[0], skills[2]]
        let list = Array(one.queue)
        two.queue = OrderedToMany(list.reversed())
        one.queue.append(skills[1])

        #expect(value == [skills[0], skills[1]] && two.skills == [skills[1], skills[0]])
        #expect(Set(one.skills) == Set(skills[1...]) && skills[3].holders == [one])
        #expect(list == [skills[2], skills[0]] && one.queue == [skills[2], skills[0], skills[1]])
        #expect(two.queue == [skills[0], skills[2]] && two.queue != [skills[2], skills[0]])
        #expect(skills[1].holders.description == "\([one, two])" || skills[1].holders.description == "\([two, one])")
    }

    @Test func `all copies of a collection are the relationship itself, and one without owner keeps its members`()
        throws
    {
        let stack = try Stack(.inMemory, classes: teamClasses)
        let member = Member(context: stack.context)
        let skills = (0..<3).map { _ in Skill(context: stack.context) }
        let (queue, marks) = (member.queue, member.marks)
        let (loose, looseList) = (ToMany([skills[0]]), OrderedToMany([skills[0], skills[1]]))

        queue.append(skills[0])
        marks.insert(skills[1])
        loose.insert(skills[1])
        loose.insert(skills[0])
        loose.remove(skills[0])
        looseList.insert(skills[2], at: 0)
        looseList.move(from: 2, to: 0)
        looseList.remove(at: 1)
        looseList.append(skills[0])

        #expect(Array(member.queue) == [skills[0]] && Set(member.marks) == [skills[1]])
        #expect(Array(loose) == [skills[1]] && loose.count == 1 && loose.contains(skills[1]))
        #expect(Array(looseList) == [skills[1], skills[0]] && looseList.firstIndex(of: skills[0]) == 1)
        #expect(looseList[1] === skills[0] && looseList.remove(at: 9) == nil && !looseList.isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `a loop goes over the members it began with, while they are removed, deleted and saved`(
        _ kind: StoreKind
    ) throws {
        let (stack, boss) = try makeTeam(kind, reports: 40)
        let new = (101...110).map { number in
            let member = Member(context: stack.context)
            (member.number, member.boss) = (number, boss)
            return member
        }

        var numbers: [Int] = []
        for member in boss.reports {
            numbers.append(member.number)
            if member.number % 2 == 0 { boss.reports.remove(member) }
            if member.number == 21 { try stack.context.save() }
            if member.number % 5 == 0 { try stack.context.delete(member) }
            boss.reports.insert(Member(context: stack.context))
        }

        stack.context.processPendingChanges()
        #expect(numbers == Array(1...40) + Array(101...110))
        #expect(new.allSatisfy { !$0.objectID.isTemporary } && boss.reports.count == 50 + 25 - 5)
    }

    @Test(arguments: StoreKind.allCases)
    func `what cannot be a member is refused and reported as by add(_ toRelationshipNamed)`(_ kind: StoreKind) throws {
        let (stack, boss) = try makeTeam(kind, reports: 2)
        let (deleted, own) = (Member(context: stack.context), Duty(context: stack.context))
        try stack.context.save()
        try stack.context.delete(deleted)
        let other = stack.newContext()
        let foreign = Member(context: other)
        func reported() -> [String] {
            violations { try stack.context.save() }.map(\.description).sorted()
        }
        func thrown(_ objects: [ManagedObject], _ name: String) -> [String] {
            violations { try boss.add(objects, toRelationshipNamed: name) }.map(\.description)
        }

        #expect(!boss.reports.insert(deleted).inserted)
        #expect(reported() == thrown([deleted], "reports"))
        boss.reports.formUnion([Member(context: stack.context), foreign])
        #expect(reported() == thrown([foreign], "reports"))
        boss.reports = [foreign]
        #expect(reported() == thrown([foreign], "reports"))
        boss.duties.insert(own, at: 1)
        #expect(reported().map { $0.hasSuffix("index 1 is out of range for 0 destinations") } == [true])
        boss.duties.insert(own, at: -1)
        boss.duties.move(from: 0, to: 0)
        #expect(boss.duties.remove(at: 0) == nil)
        #expect(reported().count == 3)
        #expect(boss.reports.count == 2 && boss.duties.isEmpty && own.member == nil)
        try stack.context.delete(boss)
        boss.duties.append(own)
        #expect(reported().map { $0.contains("the object is deleted") } == [true])
    }

    @Test func `an object outside of every context joins that of the other`() throws {
        let stack = try Stack(.inMemory, classes: teamClasses)
        let entity = try #require(stack.context.model.entity(named: "Duty"))
        let (inside, outside) = (Member(context: stack.context), Duty(entity: entity, insertInto: nil))

        inside.duties.append(outside)

        #expect(outside.managedObjectContext === stack.context && inside.duties.contains(outside))
    }

    @Test func `a relationship that is its own inverse has both sides, and an object can be its own friend`() throws {
        let stack = try Stack(.btree, classes: teamClasses)
        let members = (0..<3).map { _ in Member(context: stack.context) }

        members[0].friends = [members[1], members[2]]
        members[1].friends.insert(members[1])
        try stack.context.save()
        members[2].friends.removeAll()
        try stack.context.save()

        for list in [
            members,
            try stack.stored(Member.self).sorted { $0.objectID.uriRepresentation < $1.objectID.uriRepresentation },
        ] {
            let counts = list.map { $0.friends.count }.sorted()
            #expect(counts == [0, 1, 2])
            for one in list { for two in list { #expect(one.friends.contains(two) == two.friends.contains(one)) } }
        }
    }

    /// The order is longer than one chunk.
    @Test(arguments: StoreKind.allCases)
    func `a long order changes at random as an array does`(_ kind: StoreKind) throws {
        let seed = testSeed(default: 14)
        var random = SeededGenerator(seed: seed)
        let stack = try Stack(kind, classes: teamClasses)
        let member = Member(context: stack.context)
        let skills = (0..<3000).map { _ in Skill(context: stack.context) }
        member.queue = OrderedToMany(skills.prefix(1500))
        try stack.context.save()
        var expected = Array(skills.prefix(1500))
        var outside = Array(skills.dropFirst(1500))

        for step in 0..<campaignCount("ESPALIER_ORDER_STEPS", default: 6000) {
            // Phases of growth alternate with phases of shrinking.
            let grows = step / 1400 % 2 == 0
            switch Int.random(in: 0..<6, using: &random) {
            case 0,
                1 where grows || expected.isEmpty, 2 where grows:
                guard let new = outside.popLast() else { continue }
                let index = Int.random(in: 0...expected.count, using: &random)
                member.queue.insert(new, at: index)
                expected.insert(new, at: index)
            case 3 where !expected.isEmpty:
                let source = Int.random(in: 0..<expected.count, using: &random)
                let target = Int.random(in: 0..<expected.count, using: &random)
                member.queue.move(from: source, to: target)
                expected.insert(expected.remove(at: source), at: target)
            case 4 where !grows && expected.count > 700:
                // Removes a range long enough to remove whole chunks.
                let start = Int.random(in: 0..<expected.count - 600, using: &random)
                member.queue.subtract(expected[start..<start + 600])
                outside += expected[start..<start + 600]
                expected.removeSubrange(start..<start + 600)
            case _ where !expected.isEmpty:
                let index = Int.random(in: 0..<expected.count, using: &random)
                let gone =
                    Bool.random(using: &random) ? member.queue.remove(at: index) : member.queue.remove(expected[index])
                #expect(gone === expected[index], "seed \(seed), step \(step)")
                outside.append(expected.remove(at: index))
            default: continue
            }
            #expect(member.queue.count == expected.count, "seed \(seed), step \(step)")
            if let probe = expected.randomElement(using: &random) {
                let index = member.queue.firstIndex(of: probe)
                #expect(index == expected.firstIndex(of: probe), "seed \(seed), step \(step)")
                #expect(index.map { member.queue[$0] } === probe, "seed \(seed), step \(step)")
            }
            if let probe = outside.randomElement(using: &random) {
                #expect(!member.queue.contains(probe), "seed \(seed), step \(step)")
            }
            if step % 500 == 499 { #expect(Array(member.queue) == expected, "seed \(seed), step \(step)") }
            if step % 1700 == 1699 { try stack.context.save() }
        }
        try stack.context.save()
        #expect(Array(member.queue) == expected, "seed \(seed)")
        let stored = try #require(try stack.stored(Member.self).first)
        #expect(stored.queue.objectIDs == expected.map(\.objectID), "seed \(seed)")
    }
}
