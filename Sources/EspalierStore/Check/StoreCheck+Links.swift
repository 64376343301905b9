// The check of links: every list against the to-one values of its members, or against its other direction.
//
// Invariants
//   1. A link that leads to or from a row that does not exist has a finding of its own, and is not compared.

internal import EspalierEngine
internal import EspalierModel

extension StoreCheck {
    /// Checks the lists of one to-many relationship.
    mutating func checkList(_ index: Int) throws(StoreError) {
        let list = lists[index]
        switch list.counterpart {
        case .inline:
            report.linkCount += try forEachLink(in: list.tree, isInline: true) { check, link in
                check.lists[index].sketch.find(check.hash.mark(link))
            }
            for buckets in lists[index].sketch.unbalancedBuckets(entryCountMax: Self.itemCountMax) {
                try compareInline(index, in: buckets)
            }
        case .itself:
            let count = try forEachLink(in: list.tree) { check, link in
                check.lists[index].sketch.expect(check.hash.mark(link))
                check.lists[index].sketch.find(check.hash.mark(link.turned))
            }
            report.linkCount += count
            report.pairCount += count
            try compareBoth(index, list.tree, list.tree)
        case .list(let other):
            // Each pair of relationships is compared once, after both were read.
            assert(other != index, "a relationship that is its own inverse has two lists")
            let (sum, isFirst) = (min(index, other), index < other)
            let count = try forEachLink(in: list.tree) { check, link in
                if isFirst {
                    check.lists[sum].sketch.expect(check.hash.mark(link))
                } else {
                    check.lists[sum].sketch.find(check.hash.mark(link.turned))
                }
            }
            report.linkCount += count
            if isFirst { report.pairCount += count } else { try compareBoth(sum, lists[sum].tree, list.tree) }
        case .owners(let back):
            report.linkCount += try forEachLink(in: list.tree) { check, link in
                check.lists[index].sketch.expect(check.hash.mark(link))
            }
            _ = try forEachLink(in: back) { check, link in
                check.lists[index].sketch.find(check.hash.mark(link.turned))
            }
            try compareBoth(index, list.tree, back)
        }
    }

    // MARK: Reading links

    /// Calls `body` with each link of a tree; reports entries that are no links; returns the number of links.
    ///
    /// - Parameter isInline: whether members have a to-one value for each link, which shows whether the owner exists.
    private mutating func forEachLink(
        in tree: LinkTree, isInline: Bool = false, _ body: (inout StoreCheck, Link) -> Void
    ) throws(StoreError) -> Int {
        var count = 0
        var owner = (key: UInt64(0), isThere: false)
        var places = PlacesInList(tree)
        try forEachEntry(in: tree.tree) { key, value throws(StoreError) in
            if places.repeats(key) {
                // Not counted as a link: a link that the other direction requires gets a position of its own.
                note(tree.owner, tree.tree, Self.hexadecimal(key), "the entry has the same position as another one")
                try mender?.remove(key.copy(0..<key.byteCount), from: tree.tree)
            } else if let link = try link(key, value, tree, isInline: isInline, &owner) {
                count += 1
                body(&self, link)
            } else {
                try mender?.remove(key.copy(0..<key.byteCount), from: tree.tree)
            }
            return countStep()
        }
        return count
    }

    /// The link of an entry; `nil`, with a finding, if it is no link, or leads to or from a row that does not exist.
    @inline(__always)
    private mutating func link(
        _ key: RawSpan, _ value: RawSpan, _ tree: LinkTree, isInline: Bool,
        _ owner: inout (key: UInt64, isThere: Bool)
    ) throws(StoreError) -> Link? {
        guard let (link, number) = parts(of: key, value, tree) else {
            note(tree.owner, tree.tree, Self.hexadecimal(key), "the entry is not a link")
            return nil
        }
        guard tree.mayBeMember[Int(number)] else {
            let name = catalog.numbering.entity(number)?.name ?? ""
            let problem = "the link leads to \(name)/\(link.destination), which is not of entity \(tree.member.name)"
            note(tree.owner, tree.tree, Self.hexadecimal(key), problem)
            return nil
        }
        if try !presence.contains(link.destination, entityNumber: number) {
            noteMissingMember(link, number, tree, isInline: isInline)
            return nil
        }
        guard !isInline else { return link }
        if owner.key != link.owner {
            owner = (link.owner, try presence.entityNumber(of: link.owner, among: tree.ownerNumbers) != nil)
        }
        if !owner.isThere {
            let problem = "the list with \(tree.member.name) \(link.destination) belongs to a row that does not exist"
            note(tree.owner, tree.tree, "\(link.owner)", problem, in: .dangling)
            return nil
        }
        return link
    }

    private mutating func noteMissingMember(_ link: Link, _ number: UInt16, _ tree: LinkTree, isInline: Bool) {
        let name = catalog.numbering.entity(number)?.name ?? ""
        if isInline {
            note(
                tree.owner, tree.tree, "\(link.owner)",
                "the list names \(name) \(link.destination), which does not exist")
        } else {
            noteReference(to: (number, link.destination))
            note(
                tree.owner, tree.tree, "\(link.owner)",
                "the list names \(name)/\(link.destination), which does not exist", in: .dangling)
        }
    }

    /// The link of an entry and its entity number; `nil` if the entry cannot be a link.
    @inline(__always)
    private func parts(of key: RawSpan, _ value: RawSpan, _ tree: LinkTree) -> (Link, UInt16)? {
        guard key.byteCount == tree.keyByteCount, value.byteCount == LinkKey.valueByteCount else { return nil }
        let link = Link(owner: key.bigEndianKey(at: 0), destination: key.bigEndianKey(at: tree.keyByteCount - 8))
        let number: UInt16 = value.number(at: 0)
        guard link.owner != 0, link.destination != 0, catalog.numbering.isKnown(entityNumber: number) else {
            return nil
        }
        return (link, number)
    }

    /// The links of a tree in some buckets, sorted, without those that have a finding.
    private mutating func links(of tree: LinkTree, isTurned: Bool, isInline: Bool, in buckets: BucketSet)
        throws(StoreError) -> [Link]
    {
        var links: [Link] = []
        var owner = (key: UInt64(0), isThere: false)
        var places = PlacesInList(tree)
        try forEachEntry(in: tree.tree) { key, value throws(StoreError) in
            guard !places.repeats(key), let (link, number) = parts(of: key, value, tree), tree.mayBeMember[Int(number)],
                buckets.contains(hash.mark(isTurned ? link.turned : link)),
                try presence.contains(link.destination, entityNumber: number)
            else { return countStep() }
            if !isInline {
                if owner.key != link.owner {
                    let number = try presence.entityNumber(of: link.owner, among: tree.ownerNumbers)
                    owner = (link.owner, number != nil)
                }
                guard owner.isThere else { return countStep() }
            }
            links.append(isTurned ? link.turned : link)
            return countStep()
        }
        links.sort()
        return links
    }

    // MARK: Exact comparison

    /// Compares lists with the to-one values of their members.
    private mutating func compareInline(_ index: Int, in buckets: BucketSet) throws(StoreError) {
        let list = lists[index]
        guard case .inline(let slot, let name) = list.counterpart else { return }
        var expected: [Link] = []
        let root = model.entities[list.tree.member.root]
        try forEachRow(of: root) { key, row in
            if let number = session.entityNumber(of: row, key, root), list.tree.mayBeMember[Int(number)],
                let reference = session.reader.reference(at: slot, row)
            {
                let link = Link(owner: reference.key, destination: key)
                if buckets.contains(hash.mark(link)) { expected.append(link) }
            }
            return countStep()
        }
        expected.sort()
        let found = try links(of: list.tree, isTurned: false, isInline: true, in: buckets)
        guard !isCancelled else { return }
        let member = list.tree.member.name
        for link in expected.surplus(over: found) {
            let problem = "the list lacks \(member) \(link.destination), whose \(name) leads to this row"
            note(list.tree.owner, list.tree.tree, "\(link.owner)", problem)
            if let mender,
                let number = try presence.entityNumber(of: link.destination, among: numbers(list.tree.mayBeMember))
            {
                try mender.add(link, memberNumber: number, to: list.tree)
            }
        }
        let extra = found.surplus(over: expected)
        for link in extra {
            let problem =
                "the list names \(member) \(link.destination), whose \(name) leads elsewhere, or names it twice"
            note(list.tree.owner, list.tree.tree, "\(link.owner)", problem)
        }
        assert(extra.count <= found.count, "\(extra.count) of \(found.count) links are wrong")
        try remove(extra, from: list.tree)
    }

    /// Compares two trees that hold the same links, in one direction and in the other.
    private mutating func compareBoth(_ index: Int, _ tree: LinkTree, _ back: LinkTree) throws(StoreError) {
        assert(
            tree.member.root == back.owner.root && tree.owner.root == back.member.root, "the trees are of other links")
        if tree.isOrdered && back.isOrdered {
            try findRepeated(in: tree)
            if tree.tree != back.tree { try findRepeated(in: back) }
        }
        for buckets in lists[index].sketch.unbalancedBuckets(entryCountMax: Self.itemCountMax) {
            let here = try links(of: tree, isTurned: false, isInline: false, in: buckets)
            let there = try links(of: back, isTurned: true, isInline: false, in: buckets)
            guard !isCancelled else { return }
            try compare(here, there, tree, back)
        }
    }

    private mutating func compare(
        _ here: [Link], _ there: [Link], _ tree: LinkTree, _ back: LinkTree
    ) throws(StoreError) {
        // A list that names a row twice has a finding of its own; only links that one direction lacks count here.
        for link in Self.unique(here).surplus(over: Self.unique(there)) {
            let problem = "the link to \(link.destination) is missing in tree \"\(back.tree.name)\""
            note(tree.owner, tree.tree, "\(link.owner)", problem)
            if let mender, let number = try presence.entityNumber(of: link.owner, among: tree.ownerNumbers) {
                try mender.add(link.turned, memberNumber: number, to: back)
            }
        }
        if tree.tree != back.tree {
            for link in Self.unique(there).surplus(over: Self.unique(here)) {
                let problem = "the link from \(link.owner) is missing in tree \"\(tree.tree.name)\""
                note(back.owner, back.tree, "\(link.destination)", problem)
                if let mender, let number = try presence.entityNumber(of: link.destination, among: back.ownerNumbers) {
                    try mender.add(link, memberNumber: number, to: tree)
                }
            }
        }
        // If both lists are ordered, `findRepeated` has reported these.
        guard !(tree.isOrdered && back.isOrdered) else { return }
        try noteRepeated(here, in: tree)
        try noteRepeated(there.map(\.turned).sorted(), in: back)
    }

    private mutating func noteRepeated(_ links: [Link], in tree: LinkTree) throws(StoreError) {
        let repeated = links.surplus(over: Self.unique(links))
        assert(repeated.count < max(links.count, 1), "all \(links.count) links are repeated")
        for link in repeated {
            note(tree.owner, tree.tree, "\(link.owner)", "the list has \(link.destination) twice")
        }
        try remove(repeated, from: tree)
    }

    private static func unique(_ links: [Link]) -> [Link] {
        assert(zip(links, links.dropFirst()).allSatisfy { !($1 < $0) }, "\(links.count) links are not sorted")
        var result: [Link] = []
        for link in links where result.last != link { result.append(link) }
        return result
    }

    private func numbers(_ isWanted: [Bool]) -> [UInt16] { isWanted.indices.filter { isWanted[$0] }.map { UInt16($0) } }

    // MARK: Ordered lists

    /// Finds duplicate members of an ordered list, which no comparison finds if both directions have the same ones.
    private mutating func findRepeated(in tree: LinkTree) throws(StoreError) {
        var (owner, members): (UInt64, [UInt64]) = (0, [])
        func repeated() -> [Link] {
            members.sort()
            return zip(members, members.dropFirst()).filter { $0 == $1 }.map { Link(owner: owner, destination: $0.0) }
        }
        var found: [Link] = []
        var places = PlacesInList(tree)
        try forEachEntry(in: tree.tree) { key, value in
            guard !places.repeats(key), let (link, _) = parts(of: key, value, tree) else { return countStep() }
            if link.owner != owner {
                found += repeated()
                (owner, members) = (link.owner, [])
            }
            members.append(link.destination)
            return countStep()
        }
        found += repeated()
        for link in found {
            note(tree.owner, tree.tree, "\(link.owner)", "the list has \(link.destination) twice")
        }
        try remove(found, from: tree)
    }

    /// Removes links, which are sorted, from their lists, each as often as it is named: from an ordered list, the last
    /// ones.
    private func remove(_ links: [Link], from tree: LinkTree) throws(StoreError) {
        guard let mender, !links.isEmpty else { return }
        guard tree.isOrdered else {
            for link in links { try mender.remove(LinkKey.unordered(link.owner, link.destination), from: tree.tree) }
            return
        }
        assert(zip(links, links.dropFirst()).allSatisfy { !($1 < $0) }, "the links are not sorted")
        var position = 0
        while position < links.count {
            let owner = links[position].owner
            var counts: [UInt64: Int] = [:]
            while position < links.count, links[position].owner == owner {
                counts[links[position].destination, default: 0] += 1
                position += 1
            }
            try remove(counts, of: owner, from: tree, mender)
        }
    }

    private func remove(
        _ counts: [UInt64: Int], of owner: UInt64, from tree: LinkTree, _ mender: StoreMender
    ) throws(StoreError) {
        assert(tree.isOrdered && counts.values.allSatisfy { $0 > 0 }, "links of an unordered list have positions")
        var keys: [UInt64: [[UInt8]]] = [:]
        let prefix = LinkKey.unordered(owner, 0).prefix(8)
        var places = PlacesInList(tree)
        try forEachEntry(in: tree.tree, from: Array(prefix)) { key, value in
            guard key.byteCount >= 8, key.bigEndianKey(at: 0) == owner else { return false }
            if !places.repeats(key), let (link, _) = parts(of: key, value, tree), counts[link.destination] != nil {
                keys[link.destination, default: []].append(key.copy(0..<key.byteCount))
            }
            return true
        }
        // In order, so that the same store is always mended by the same calls.
        for (destination, keys) in keys.sorted(by: { $0.key < $1.key }) {
            for key in keys.suffix(counts[destination] ?? 0) { try mender.remove(key, from: tree.tree) }
        }
    }
}

/// The position of the last entry of an ordered list.
private struct PlacesInList {
    private let tree: LinkTree
    private var last: (owner: UInt64, position: UInt64)?

    init(_ tree: LinkTree) { self.tree = tree }

    /// Whether the entry before this one has the same position of the same list.
    @inline(__always)
    mutating func repeats(_ key: RawSpan) -> Bool {
        guard tree.isOrdered, key.byteCount == tree.keyByteCount else { return false }
        let place = (owner: key.bigEndianKey(at: 0), position: key.bigEndianKey(at: 8))
        defer { last = place }
        return last.map { $0 == place } ?? false
    }
}
