// Writes the members of to-many relationships: lists in their order, pairs, and relationships without inverse.
//
// Invariants
//   1. Memory: `limits.memberCount` members, or those of the longest list. A relationship with more members is read
//      several times, each time for the owners whose keys leave one remainder.

import EspalierModel
import EspalierStore

extension ObjectWriter {
    /// The owners whose keys leave a remainder.
    private struct Share {
        var divisor: UInt64
        var remainder: UInt64

        func contains(_ key: UInt64) -> Bool { key % divisor == remainder }
    }

    /// Writes the members of a relationship that the to-one relationships of rows do not say.
    func writeMembers(of relationship: Relationship) throws(CoreDataImportError) {
        let inverse = model.inverse(of: relationship)
        guard relationship.isOrdered || inverse?.isToMany != false else { return }
        if let inverse, inverse.isToMany, !relationship.isOrdered {
            // Both ends have the same pairs: an ordered end writes them, or the first one.
            guard !inverse.isOrdered else { return }
            let isFirst =
                (relationship.declaredBy, relationship.slot) <= (inverse.declaredBy, inverse.slot)
            guard isFirst else { return }
        }
        var shares = [Share(divisor: 1, remainder: 0)]
        var isFirst = true
        while var share = shares.popLast() {
            var members: [SourceMember] = []
            try source.forEachMember(of: relationship, isFirst: isFirst, &report) {
                member, report throws(CoreDataImportError) in
                guard share.contains(member.owner), has(member, relationship, isReported: isFirst, &report) else {
                    return
                }
                members.append(member)
                while members.count > limits.memberCount, share.divisor < 1 << 40 {
                    shares.append(Share(divisor: 2 * share.divisor, remainder: share.remainder + share.divisor))
                    share.divisor *= 2
                    members.removeAll { !share.contains($0.owner) }
                }
            }
            isFirst = false
            try write(members, of: relationship)
        }
    }

    /// Whether both ends of a member are there.
    private func has(
        _ member: SourceMember, _ relationship: Relationship, isReported: Bool, _ report: inout CoreDataImportReport
    ) -> Bool {
        let entity = model.entities[relationship.declaredBy]
        func isMissing(_ text: String) -> Bool {
            if isReported {
                report.add(
                    .destination, entity.name, key: Int64(clamping: member.owner), relationship.name,
                    text)
            }
            return false
        }
        guard id(ofKey: member.owner, of: entity) != nil else {
            return isMissing("the row does not exist, but leads to \(member.destination)")
        }
        guard id(ofKey: member.destination, for: relationship) != nil else {
            return isMissing(
                "no \(model.destination(of: relationship).name) has the key \(member.destination)")
        }
        return true
    }

    private func write(_ members: [SourceMember], of relationship: Relationship) throws(CoreDataImportError) {
        let members = members.sorted {
            ($0.owner, $0.position, $0.destination) < ($1.owner, $1.position, $1.destination)
        }
        let entity = model.entities[relationship.declaredBy]
        var request = SaveRequest()
        var (start, memberCount) = (0, 0)
        while start < members.count {
            let owner = members[start].owner
            var end = start
            while end < members.count, members[end].owner == owner { end += 1 }
            var known: Set<UInt64> = []
            let destinations = members[start..<end].compactMap { member in
                known.insert(member.destination).inserted ? id(ofKey: member.destination, for: relationship) : nil
            }
            start = end
            if let id = id(ofKey: owner, of: entity),
                let slot = model.entity(named: id.entityName)?.relationship(named: relationship.name)?.slot
            {
                request.links.append(
                    relationship.isOrdered
                        ? .init(owner: id, slot: slot, order: destinations)
                        : .init(owner: id, slot: slot, added: destinations))
                memberCount += destinations.count
            }
            guard memberCount >= limits.rowCount || start == members.count else { continue }
            _ = try storing { () throws(StoreError) in try store.save(request) }
            report.memberCount += memberCount
            (request, memberCount) = (SaveRequest(), 0)
            try advance(by: 0)
        }
    }
}
