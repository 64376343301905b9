// A random change of one property of a bead, of any kind that the property allows.

import Espalier
import EspalierModel
import TestSupport

/// One change of one property.
struct BeadChange {
    private enum Kind {
        case set, add, remove
        /// Only for ordered relationships, like the next two.
        case insert(Int)
        case move(Int, Int)
        case removeAt(Int)
    }

    private let bead: Bead
    private let property: BeadProperty
    private let kind: Kind
    private let others: [Bead]
    private let value: Int64

    /// - Parameter there: the beads that a relationship may lead to.
    init(
        of bead: Bead, _ property: BeadProperty, among there: [Bead], _ random: inout SeededGenerator
    ) throws {
        (self.bead, self.property) = (bead, property)
        value = Int64.random(in: 0..<4, using: &random)
        let count = property.isToOne ? Int.random(in: 0..<2, using: &random) : Int.random(in: 0..<4, using: &random)
        others = property.isRelationship ? Array(there.shuffled(using: &random).prefix(count)) : []
        let members = property.isOrdered ? bead.order(property).count : 0
        switch Int.random(in: 0..<(property.isOrdered ? 6 : 3), using: &random) {
        case 1: kind = .add
        case 2: kind = .remove
        case 3: kind = .insert(Int.random(in: 0...members, using: &random))
        case 4 where members > 1:
            kind = .move(Int.random(in: 0..<members, using: &random), Int.random(in: 0..<members, using: &random))
        case 5 where members > 0: kind = .removeAt(Int.random(in: 0..<members, using: &random))
        default: kind = .set
        }
    }

    func text(_ number: (Bead) -> Int) -> String { "\(property) \(kind) \(value) \(others.map(number))" }

    func make() throws {
        if !property.isRelationship { return try bead.setValue(.integer(value), forKey: property.name) }
        if property.isToOne { return try bead.setValue(.toOne(others.first), forKey: property.name) }
        switch kind {
        case .set: try bead.setValue(.toMany(others), forKey: property.name)
        case .add: try bead.add(others, toRelationshipNamed: property.name)
        case .remove: try bead.remove(others, fromRelationshipNamed: property.name)
        case .insert(let index): bead.order(property).insert(contentsOf: others, at: index)
        case .move(let source, let target): bead.order(property).move(from: source, to: target)
        case .removeAt(let index): bead.order(property).remove(at: index)
        }
    }
}

extension Bead {
    /// The live collection of an ordered relationship.
    fileprivate func order(_ property: BeadProperty) -> OrderedToMany<Bead> {
        property == .list ? _get("list", at: property.rawValue) : _get("queue", at: property.rawValue)
    }
}
