// The names that Core Data gives to tables and columns.
//
// Facts, as stores show them
//   1. A hierarchy has one table, `Z` and the name of its topmost entity in capitals.
//   2. A property has the column `Z` and its name in capitals. Where several entities of a hierarchy declare properties
//      of one name, the second one, by the number of its entity, has `1` after the name, the third one `2` ... No store
//      shows what happens if another property is called so: here it has its own name, and the number is left out.
//   3. A to-one relationship to a hierarchy also has a column with the number of the destination's entity, whose name
//      has a number after the `Z`; an ordered one has its place in `Z_FOK_` and the name of the relationship that
//      leads back.
//   4. A many-to-many relationship has a table `Z_`, the number of an entity and the name of one end. In it, each end
//      has a column `Z_`, the number of the destination's entity and the name; `REFLEXIVE` is the other column of a
//      relationship that is its own inverse. An ordered end has `Z_FOK_`, that number and that name.
//   5. A number after the name, as in `Z_4PARENTS1`, tells a column apart from the one of another table that is called
//      so. A relationship may have such a name too, so a name without a number after it comes before one with it.

import EspalierModel

enum ColumnNames {
    /// The table of a hierarchy.
    static func table(of root: Entity) -> String { "Z" + root.name.uppercased() }

    /// The columns of all attributes and to-one relationships of a hierarchy, by the entity that declares them and the
    /// name of the property.
    static func columns(
        ofHierarchy entities: [(entity: Entity, number: Int64)]
    ) -> [ManagedObjectModel.EntityIndex: [String: String]] {
        var declared: [(entity: ManagedObjectModel.EntityIndex, name: String, capitals: String)] = []
        for (entity, _) in entities.sorted(by: { $0.number < $1.number }) {
            let attributes = entity.attributes.filter { $0.declaredBy == entity.index && !$0.isTransient }
            let relationships = entity.relationships.filter { $0.declaredBy == entity.index && !$0.isToMany }
            for name in attributes.map(\.name) + relationships.map(\.name) {
                declared.append((entity.index, name, "Z" + name.uppercased()))
            }
        }
        var taken = Set(declared.map(\.capitals))
        var columns: [ManagedObjectModel.EntityIndex: [String: String]] = [:]
        // The number after the next property of the same name.
        var numbers: [String: Int] = [:]
        for (entity, name, capitals) in declared {
            var column = capitals
            if var number = numbers[capitals] {
                repeat {
                    column = "\(capitals)\(number)"
                    number += 1
                } while !taken.insert(column).inserted
                numbers[capitals] = number
            } else {
                numbers[capitals] = 1
            }
            columns[entity, default: [:]][name] = column
        }
        return columns
    }

    /// Whether a column only supports the one called `column`: the number of an entity, or the place in an order.
    static func supports(_ column: String, in name: String) -> Bool {
        let base = column.dropFirst()
        if name == "Z_FOK_" + base { return true }
        guard name.first == "Z", name.hasSuffix("_" + base) else { return false }
        let number = name.dropFirst().dropLast(base.count + 1)
        return !number.isEmpty && number.allSatisfy(isDigit)
    }

    /// The number in a name such as `Z_12NAME` or `Z_12NAME1`, after `prefix`, and how many digits follow `property`;
    /// `nil` if the name is another one.
    static func parts(of name: String, _ prefix: String, _ property: String) -> (number: Int64, digits: Int)? {
        let (name, property) = (name.uppercased(), property.uppercased())
        guard name.hasPrefix(prefix) else { return nil }
        let rest = name.dropFirst(prefix.count)
        let number = rest.prefix(while: isDigit)
        let ending = rest.dropFirst(number.count)
        guard ending.hasPrefix(property) else { return nil }
        let digits = ending.dropFirst(property.count)
        guard digits.allSatisfy(isDigit) else { return nil }
        return Int64(number).map { ($0, digits.count) }
    }

    private static func isDigit(_ character: Character) -> Bool { character.isASCII && character.isNumber }
}
