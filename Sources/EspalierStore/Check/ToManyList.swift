// The lists of one to-many relationship, and the links with which a check compares them.

internal import EspalierEngine
internal import EspalierModel

/// One to-many relationship as the check sees it.
struct ToManyList {
    /// The place of the other direction of its links.
    enum Counterpart {
        /// In the to-one values of its members.
        case inline(slot: Int, name: String)
        /// In the lists of the to-many inverse.
        case list(Int)
        /// In its own lists: it is its own inverse.
        case itself
        /// In a second tree, because it has no inverse.
        case owners(LinkTree)
    }

    let relationship: Relationship
    /// The tree of the lists.
    let tree: LinkTree
    let counterpart: Counterpart
    /// For `.inline`, the links of the rows against those of this tree; else those of this tree against those of the
    /// other.
    var sketch = EntrySketch()
}

/// A tree of links.
struct LinkTree {
    let tree: Tree<[UInt8]>
    let isOrdered: Bool
    /// The entity whose rows have the lists.
    let owner: Entity
    /// The numbers of the entities whose rows may have lists.
    let ownerNumbers: [UInt16]
    /// The entity of the members.
    let member: Entity
    /// By entity number: whether rows of that entity may be members.
    let mayBeMember: [Bool]

    init(_ tree: Tree<[UInt8]>, isOrdered: Bool, owner: Entity, member: Entity, _ numbering: StoreNumbering) {
        (self.tree, self.isOrdered, self.owner, self.member) = (tree, isOrdered, owner, member)
        let mayOwn = numbering.isWanted(owner, includesSubentities: true)
        mayBeMember = numbering.isWanted(member, includesSubentities: true)
        ownerNumbers = mayOwn.indices.filter { mayOwn[$0] }.map { UInt16($0) }
        assert(!ownerNumbers.isEmpty && mayOwn.count == mayBeMember.count, "\(owner.name) has no number")
    }

    var keyByteCount: Int { isOrdered ? 24 : LinkKey.unorderedByteCount }
}

extension StoreCatalog {
    /// All to-many relationships of the model, each once.
    func toManyLists() -> [ToManyList] {
        var relationships: [Relationship] = []
        for entity in model.entities {
            relationships += entity.relationships.filter { $0.declaredBy == entity.index && $0.isToMany }
        }
        let positions = Dictionary(uniqueKeysWithValues: relationships.enumerated().map { (RelationshipID($1), $0) })
        return relationships.map { relationship in
            let (owner, member) = (model.entities[relationship.declaredBy], model.destination(of: relationship))
            let tree = LinkTree(
                linkTree(of: relationship), isOrdered: relationship.isOrdered, owner: owner, member: member, numbering)
            let counterpart: ToManyList.Counterpart
            if let inverse = model.inverse(of: relationship) {
                if !inverse.isToMany {
                    counterpart = .inline(slot: inverse.slot, name: inverse.name)
                } else if RelationshipID(inverse) == RelationshipID(relationship) {
                    counterpart = .itself
                } else {
                    assert(positions[RelationshipID(inverse)] != nil, "the inverse of \(relationship.name) has no list")
                    counterpart = .list(positions[RelationshipID(inverse)] ?? 0)
                }
            } else if let back = ownerTree(of: relationship) {
                counterpart = .owners(LinkTree(back, isOrdered: false, owner: member, member: owner, numbering))
            } else {
                preconditionFailure("a relationship without inverse has an owner tree")
            }
            return ToManyList(relationship: relationship, tree: tree, counterpart: counterpart)
        }
    }
}
