// Random operations on live collections against sets and arrays: every kind of to-many relationship, objects that are
// new, saved, refreshed, rolled back or fetched by another context, and a second context that adds members too.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct LiveWalkTests {
    @Test(arguments: StoreKind.allCases)
    func `live collections are what sets and arrays say`(_ kind: StoreKind) throws {
        let seed = testSeed(default: 20_266)
        for round in 0..<campaignCount("ESPALIER_MEMBER_WALKS", default: 6) {
            var walk = try LiveWalk(kind, seed: seed &+ UInt64(round))
            try walk.go(steps: 300)
        }
    }
}

/// The model as plain values, by the numbers of objects; each relationship is kept on one side only.
private struct Team: Equatable {
    var members: Set<Int> = []
    var skills: Set<Int> = []
    var duties: Set<Int> = []
    var boss: [Int: Int] = [:]
    var friends: Set<[Int]> = []
    var held: Set<[Int]> = []
    var marks: [Int: Set<Int>] = [:]
    /// Ordered destinations by owner; no empty list is kept.
    var dutiesOf: [Int: [Int]] = [:]
    var ranking: [Int: [Int]] = [:]
    var queue: [Int: [Int]] = [:]

    mutating func delete(_ number: Int) {
        (members, skills, duties) = (
            members.subtracting([number]), skills.subtracting([number]), duties.subtracting([number])
        )
        boss = boss.filter { $0.key != number && $0.value != number }
        friends = friends.filter { !$0.contains(number) }
        held = held.filter { !$0.contains(number) }
        for lists in [\Team.dutiesOf, \Team.ranking, \Team.queue] {
            self[keyPath: lists][number] = nil
            for owner in self[keyPath: lists].keys { self[keyPath: lists][owner]?.removeAll { $0 == number } }
            self[keyPath: lists] = self[keyPath: lists].filter { !$0.value.isEmpty }
        }
        marks[number] = nil
        for owner in marks.keys { marks[owner]?.remove(number) }
        marks = marks.filter { !$0.value.isEmpty }
    }
}

private struct LiveWalk {
    let stack: Stack
    let seed: UInt64
    var random: SeededGenerator
    var context: ManagedObjectContext
    var team = Team()
    var saved = Team()
    var members: [Int: Member] = [:]
    var skills: [Int: Skill] = [:]
    var duties: [Int: Duty] = [:]
    var nextNumber = 1
    var step = 0

    init(_ kind: StoreKind, seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        stack = try Stack(kind, classes: teamClasses)
        context = stack.newContext()
    }

    mutating func go(steps: Int) throws {
        for _ in 0..<steps {
            step += 1
            try change()
            switch Int.random(in: 0..<30, using: &random) {
            case 0, 1, 2: try save()
            case 3:
                context.rollback()
                team = saved
                try find(in: context)
            case 4:
                context = stack.newContext()
                team = saved
                try find(in: context)
            case 5: try refreshAll()
            case 6: try addElsewhere()
            default: break
            }
            checkSome()
            if step % 20 == 0 { checkAll(team) }
        }
        try save()
    }

    // MARK: Steps

    private mutating func save() throws {
        try context.save()
        saved = team
        checkAll(team)
        let (own, objects) = (context, (members, skills, duties))
        try find(in: stack.newContext())
        checkAll(team)
        (context, (members, skills, duties)) = (own, objects)
    }

    private mutating func refreshAll() throws {
        try context.save()
        saved = team
        context.refreshAllObjects()
    }

    /// Fetches the objects of `team` in `context`, which becomes the walk's context.
    private mutating func find(in context: ManagedObjectContext) throws {
        self.context = context
        members = Dictionary(uniqueKeysWithValues: try context.fetch(FetchRequest<Member>()).map { ($0.number, $0) })
        skills = Dictionary(uniqueKeysWithValues: try context.fetch(FetchRequest<Skill>()).map { ($0.number, $0) })
        duties = Dictionary(uniqueKeysWithValues: try context.fetch(FetchRequest<Duty>()).map { ($0.number, $0) })
        #expect(Set(members.keys) == team.members && Set(skills.keys) == team.skills, "\(place)")
        #expect(Set(duties.keys) == team.duties, "\(place)")
    }

    /// Another context adds to a set that this one may have changed and not saved.
    private mutating func addElsewhere() throws {
        guard let number = saved.members.intersection(team.members).randomElement(using: &random),
            let skill = saved.skills.intersection(team.skills).randomElement(using: &random),
            let owner = members[number], let own = skills[skill]
        else { return }
        let other = stack.newContext()
        let theirs = try #require(try other.existingObject(with: owner.objectID) as? Member)
        theirs.marks.insert(try #require(try other.existingObject(with: own.objectID) as? Skill))
        try other.save()
        context.refresh(owner, mergesChanges: true)
        guard saved.marks[number]?.contains(skill) != true else { return }
        saved.marks[number, default: []].insert(skill)
        team.marks[number, default: []].insert(skill)
    }

    private mutating func change() throws {
        let kind = Int.random(in: 0..<12, using: &random)
        if kind < 3 || team.members.isEmpty || team.skills.isEmpty || team.duties.isEmpty { return insert() }
        if kind == 3, Int.random(in: 0..<3, using: &random) == 0 {
            let all = team.members.union(team.skills).union(team.duties).sorted()
            guard let number = all.randomElement(using: &random) else { return }
            let object: ManagedObject? = members[number] ?? skills[number] ?? duties[number]
            // Without an inverse no rule removes a deleted object from a list before the next refresh.
            if let skill = skills[number] {
                for member in members.values {
                    member.marks.remove(skill)
                    member.queue.remove(skill)
                }
            }
            if let object { try context.delete(object) }
            context.processPendingChanges()
            (members[number], skills[number], duties[number]) = (nil, nil, nil)
            team.delete(number)
            return
        }
        let owner = pick(team.members)
        switch Int.random(in: 0..<8, using: &random) {
        case 0: changeReports(of: owner)
        case 1: changeFriends(of: owner)
        case 2: changeSkills(of: owner)
        case 3: changeMarks(of: owner)
        case 4: changeDuties(of: owner)
        case 5: changeRanking(of: owner)
        default: changeQueue(of: owner)
        }
    }

    private mutating func insert() {
        defer { nextNumber += 1 }
        switch nextNumber % 3 {
        case 0:
            let member = Member(context: context)
            member.number = nextNumber
            members[nextNumber] = member
            team.members.insert(nextNumber)
        case 1:
            let skill = Skill(context: context)
            skill.number = nextNumber
            skills[nextNumber] = skill
            team.skills.insert(nextNumber)
        default:
            let duty = Duty(context: context)
            duty.number = nextNumber
            duties[nextNumber] = duty
            team.duties.insert(nextNumber)
        }
    }

    // MARK: Sets

    private enum SetChange: CaseIterable { case insert, remove, union, subtract, assign, removeAll }

    /// Makes one change of `set`; returns the expected members.
    private mutating func change<Object: ManagedObject>(
        _ set: ToMany<Object>, now: Set<Int>, among all: Set<Int>, _ objects: [Int: Object],
        assign: (ToMany<Object>) -> Void
    ) -> Set<Int> {
        let one = pick(all)
        let several = Set((0..<Int.random(in: 0..<5, using: &random)).map { _ in pick(all) })
        let list = several.sorted().compactMap { objects[$0] }
        guard let object = objects[one] else { return now }
        switch SetChange.allCases.randomElement(using: &random) {
        case .insert:
            #expect(set.insert(object).inserted != now.contains(one), "\(place)")
            return now.union([one])
        case .remove:
            #expect((set.remove(object) != nil) == now.contains(one), "\(place)")
            return now.subtracting([one])
        case .union:
            set.formUnion(list)
            return now.union(several)
        case .subtract:
            set.subtract(list)
            return now.subtracting(several)
        case .assign:
            assign(ToMany(list))
            return several
        default:
            set.removeAll()
            return []
        }
    }

    private mutating func changeReports(of owner: Int) {
        guard let member = members[owner] else { return }
        let now = Set(team.boss.filter { $0.value == owner }.keys)
        if Int.random(in: 0..<3, using: &random) == 0 {
            let boss = Bool.random(using: &random) ? pick(team.members) : nil
            member.boss = boss.flatMap { members[$0] }
            team.boss[owner] = boss
            return
        }
        let new = change(member.reports, now: now, among: team.members, members) { member.reports = $0 }
        for gone in now.subtracting(new) { team.boss[gone] = nil }
        for report in new { team.boss[report] = owner }
    }

    private mutating func changeFriends(of owner: Int) {
        guard let member = members[owner] else { return }
        let now = friends(of: owner)
        let new = change(member.friends, now: now, among: team.members, members) { member.friends = $0 }
        for gone in now.subtracting(new) { team.friends.remove([min(owner, gone), max(owner, gone)]) }
        for friend in new { team.friends.insert([min(owner, friend), max(owner, friend)]) }
    }

    private func friends(of owner: Int) -> Set<Int> {
        Set(team.friends.filter { $0.contains(owner) }.map { $0[0] == owner ? $0[1] : $0[0] })
    }

    private mutating func changeSkills(of owner: Int) {
        guard let member = members[owner] else { return }
        if Bool.random(using: &random) {
            let number = pick(team.skills)
            guard let skill = skills[number] else { return }
            let now = Set(team.held.filter { $0[1] == number }.map { $0[0] })
            let new = change(skill.holders, now: now, among: team.members, members) { skill.holders = $0 }
            team.held = team.held.filter { $0[1] != number }.union(new.map { [$0, number] })
        } else {
            let now = Set(team.held.filter { $0[0] == owner }.map { $0[1] })
            let new = change(member.skills, now: now, among: team.skills, skills) { member.skills = $0 }
            team.held = team.held.filter { $0[0] != owner }.union(new.map { [owner, $0] })
        }
    }

    private mutating func changeMarks(of owner: Int) {
        guard let member = members[owner] else { return }
        let new = change(member.marks, now: team.marks[owner] ?? [], among: team.skills, skills) { member.marks = $0 }
        team.marks[owner] = new.isEmpty ? nil : new
    }

    // MARK: Orders

    /// Makes one change of `list`; returns the expected members in order.
    private mutating func change<Object: ManagedObject>(
        _ list: OrderedToMany<Object>, now: [Int], among all: Set<Int>, _ objects: [Int: Object],
        assign: (OrderedToMany<Object>) -> Void
    ) -> [Int] {
        let one = pick(all)
        let several = (0..<Int.random(in: 0..<5, using: &random)).map { _ in pick(all) }
        var seen = Set(now)
        let new = several.filter { seen.insert($0).inserted }
        guard let object = objects[one] else { return now }
        let index = Int.random(in: 0...now.count, using: &random)
        var result = now
        switch Int.random(in: 0..<11, using: &random) {
        case 0:
            list.append(object)
            return now.contains(one) ? now : now + [one]
        case 1:
            list.append(contentsOf: several.compactMap { objects[$0] })
            return now + new
        case 2:
            list.insert(object, at: index)
            if !now.contains(one) { result.insert(one, at: index) }
        case 3:
            list.insert(contentsOf: several.compactMap { objects[$0] }, at: index)
            result.insert(contentsOf: new, at: index)
        case 4 where !now.isEmpty:
            let (source, target) = (min(index, now.count - 1), Int.random(in: 0..<now.count, using: &random))
            list.move(from: source, to: target)
            result.insert(result.remove(at: source), at: target)
        case 5 where index < now.count:
            #expect(list.remove(at: index) === objects[now[index]], "\(place)")
            result.remove(at: index)
        case 6:
            #expect((list.remove(object) != nil) == now.contains(one), "\(place)")
            result.removeAll { $0 == one }
        case 7:
            assign(OrderedToMany(several.compactMap { objects[$0] }))
            var seen = Set<Int>()
            return several.filter { seen.insert($0).inserted }
        case 8:
            list.subtract(several.compactMap { objects[$0] })
            result.removeAll { several.contains($0) }
        case 9 where index < now.count:
            list.replaceObject(at: index, with: object)
            if !now.contains(one) { result[index] = one }
        case 10:
            let unwanted = several.compactMap { objects[$0] }
            list.removeAll { unwanted.contains($0) }
            result.removeAll { several.contains($0) }
        default: break
        }
        return result
    }

    private mutating func changeDuties(of owner: Int) {
        guard let member = members[owner] else { return }
        let now = team.dutiesOf[owner] ?? []
        var new = now
        if Int.random(in: 0..<4, using: &random) == 0 {
            let number = pick(team.duties)
            duties[number]?.member = member
            if !now.contains(number) { new.append(number) }
        } else {
            new = change(member.duties, now: now, among: team.duties, duties) { member.duties = $0 }
        }
        for other in team.dutiesOf.keys where other != owner {
            team.dutiesOf[other]?.removeAll { new.contains($0) }
        }
        team.dutiesOf[owner] = new
        team.dutiesOf = team.dutiesOf.filter { !$0.value.isEmpty }
    }

    private mutating func changeRanking(of owner: Int) {
        guard let member = members[owner] else { return }
        if Int.random(in: 0..<3, using: &random) == 0 {
            let number = pick(team.skills)
            guard let skill = skills[number] else { return }
            let now = Set(team.ranking.filter { $0.value.contains(number) }.keys)
            let new = change(skill.rankers, now: now, among: team.members, members) { skill.rankers = $0 }
            for gone in now.subtracting(new) { team.ranking[gone]?.removeAll { $0 == number } }
            for ranker in new.subtracting(now) { team.ranking[ranker, default: []].append(number) }
        } else {
            let now = team.ranking[owner] ?? []
            team.ranking[owner] = change(member.ranking, now: now, among: team.skills, skills) { member.ranking = $0 }
        }
        team.ranking = team.ranking.filter { !$0.value.isEmpty }
    }

    private mutating func changeQueue(of owner: Int) {
        guard let member = members[owner] else { return }
        let new = change(member.queue, now: team.queue[owner] ?? [], among: team.skills, skills) { member.queue = $0 }
        team.queue[owner] = new.isEmpty ? nil : new
    }

    // MARK: Comparing

    private var place: String { "seed \(seed), step \(step)" }

    private mutating func pick(_ numbers: Set<Int>) -> Int { numbers.sorted().randomElement(using: &random) ?? 0 }

    /// Checks one property of one collection, before any other read has loaded what it needs.
    private mutating func checkSome() {
        guard !team.members.isEmpty, !team.skills.isEmpty else { return }
        let (owner, skill, other) = (pick(team.members), pick(team.skills), pick(team.members))
        guard let member = members[owner], let object = skills[skill], let report = members[other] else { return }
        let reports = team.boss.filter { $0.value == owner }.keys
        let (queue, ranking) = (team.queue[owner] ?? [], team.ranking[owner] ?? [])
        switch Int.random(in: 0..<10, using: &random) {
        case 0: #expect(member.reports.count == reports.count, "\(place)")
        case 1: #expect(member.reports.isEmpty == reports.isEmpty, "\(place)")
        case 2: #expect(member.reports.contains(report) == (team.boss[other] == owner), "\(place)")
        case 3: #expect(member.friends.contains(report) == friends(of: owner).contains(other), "\(place)")
        case 4: #expect(member.marks.count == team.marks[owner]?.count ?? 0, "\(place)")
        case 5: #expect(member.marks.contains(object) == (team.marks[owner]?.contains(skill) == true), "\(place)")
        case 6: #expect(member.marks.isEmpty == (team.marks[owner] == nil), "\(place)")
        case 7: #expect(member.queue.contains(object) == queue.contains(skill), "\(place)")
        case 8: #expect(member.ranking.firstIndex(of: object) == ranking.firstIndex(of: skill), "\(place)")
        default: #expect(object.holders.count == team.held.count { $0[1] == skill }, "\(place)")
        }
    }

    private func check<Object: ManagedObject>(
        _ set: ToMany<Object>, _ expected: Set<Int>, _ number: KeyPath<Object, Int>, _ name: String
    ) {
        #expect(set.count == expected.count, "\(place), \(name)")
        #expect(set.isEmpty == expected.isEmpty, "\(place), \(name)")
        #expect(set.map { $0[keyPath: number] }.sorted() == expected.sorted(), "\(place), \(name)")
        #expect(set.allSatisfy { set.contains($0) } && set.objectIDs.count == expected.count, "\(place), \(name)")
    }

    private func check<Object: ManagedObject>(
        _ list: OrderedToMany<Object>, _ expected: [Int], _ number: KeyPath<Object, Int>, _ name: String
    ) {
        #expect(list.count == expected.count, "\(place), \(name)")
        #expect(list.isEmpty == expected.isEmpty, "\(place), \(name)")
        #expect(list.map { $0[keyPath: number] } == expected, "\(place), \(name)")
        #expect(list.indices.map { list[$0][keyPath: number] } == expected, "\(place), \(name)")
        #expect(
            list.enumerated().allSatisfy { list.contains($1) && list.firstIndex(of: $1) == $0 }, "\(place), \(name)")
    }

    private func checkAll(_ team: Team) {
        for (number, member) in members.sorted(by: { $0.key < $1.key }) {
            check(member.reports, Set(team.boss.filter { $0.value == number }.keys), \.number, "reports of \(number)")
            check(member.friends, friends(of: number), \.number, "friends of \(number)")
            check(
                member.skills, Set(team.held.filter { $0[0] == number }.map { $0[1] }), \.number, "skills of \(number)")
            check(member.marks, team.marks[number] ?? [], \.number, "marks of \(number)")
            check(member.duties, team.dutiesOf[number] ?? [], \.number, "duties of \(number)")
            check(member.ranking, team.ranking[number] ?? [], \.number, "ranking of \(number)")
            check(member.queue, team.queue[number] ?? [], \.number, "queue of \(number)")
        }
        for (number, skill) in skills.sorted(by: { $0.key < $1.key }) {
            check(
                skill.holders, Set(team.held.filter { $0[1] == number }.map { $0[0] }), \.number, "holders of \(number)"
            )
            let rankers = team.ranking.filter { $0.value.contains(number) }.keys
            check(skill.rankers, Set(rankers), \.number, "rankers of \(number)")
        }
    }
}
