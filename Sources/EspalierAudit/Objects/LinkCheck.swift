// ObjectFormat.md, section 9: the entries of one tree of links. Rules 131, 132 and 135.

/// A link, decoded from one entry.
struct LinkEntry {
    let owner: UInt64
    let destination: UInt64
    /// The entity number in the value: that of the destination, or of the owner if the entry is in a tree of owners.
    let number: UInt16
}

/// The check of one tree of links.
struct LinkCheck {
    private let list: LinkList
    private let isOwnerTree: Bool
    private var owner: UInt64 = 0
    private var position: UInt64?
    private var destinations: [UInt64] = []

    init(_ list: LinkList, isOwnerTree: Bool) { (self.list, self.isOwnerTree) = (list, isOwnerTree) }

    private var isOrdered: Bool { !isOwnerTree && list.relationship.cardinality == .ordered }

    /// The entity that the entity number in a value must name, or a subentity of it.
    private var target: Int { isOwnerTree ? list.relationship.entity : list.relationship.destination }

    /// Decodes an entry as a link; reports breaches that leave the link usable and throws the others.
    mutating func link(
        _ key: [UInt8], _ value: [UInt8], _ rows: RowCheck, _ report: (Breach) -> Void
    ) throws(Breach) -> LinkEntry {
        let byteCount = isOrdered ? 24 : 16
        guard key.count == byteCount, value.count == 2 else {
            throw Breach(131, 0, "a link has a key of \(key.count) bytes and a value of \(value.count) bytes")
        }
        let (first, last) = (key.u64(0).byteSwapped, key.u64(byteCount - 8).byteSwapped)
        let number = UInt16(value.u16(0))
        guard first > 0, last > 0, rows.schema.isConcrete(number, kindOf: target) else {
            let name = rows.schema.model.entities[target].name
            throw Breach(
                131, 0, "a link from \(first) to \(last) has entity number \(number), which is not that of a \(name)")
        }
        if isOrdered {
            if first != owner { finish(report) }
            let next = key.u64(8).byteSwapped
            if first == owner, position == next {
                report(Breach(132, 0, "the list of \(first) has two destinations at position \(next)"))
            }
            (owner, position) = (first, next)
            destinations.append(last)
        }
        if !list.isDerived, !rows.exists(RowReference(entityNumber: number, key: last)) {
            let name = rows.schema.entity(number).map { rows.schema.model.entities[$0].name } ?? ""
            report(Breach(135, 0, "a link from \(first) leads to \(name) \(last), which does not exist"))
        }
        return isOwnerTree
            ? LinkEntry(owner: last, destination: first, number: number)
            : LinkEntry(owner: first, destination: last, number: number)
    }

    /// Ends the list of the current owner: checks its destinations for duplicates.
    mutating func finish(_ report: (Breach) -> Void) {
        destinations.sort()
        for (left, right) in zip(destinations, destinations.dropFirst()) where left == right {
            report(Breach(132, 0, "the list of \(owner) has \(left) twice"))
        }
        (destinations, position) = ([], nil)
    }
}
