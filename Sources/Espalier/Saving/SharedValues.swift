// Groups of objects that share the values of a uniqueness constraint, as stores compare them.

import EspalierModel
import EspalierStore

/// Groups of objects that share the values of a constraint.
struct SharedValues {
    /// The values of a constraint.
    struct Key: Hashable {
        let name: ConstraintName
        let values: [UniqueValue]

        init(_ name: ConstraintName, _ values: [AttributeValue]) {
            (self.name, self.values) = (name, values.map(UniqueValue.init))
        }
    }

    private struct Group {
        var objects: [ObjectID] = []
        var seen = Set<ObjectID>()
        var stored: ObjectID?
    }

    private var keys: [Key] = []
    private var groups: [Key: Group] = [:]

    mutating func add(_ id: ObjectID, _ name: ConstraintName, _ values: [AttributeValue], isStored: Bool) {
        let key = Key(name, values)
        if groups[key] == nil {
            keys.append(key)
            groups[key] = Group()
        }
        if isStored {
            groups[key]?.stored = id
        } else if groups[key]?.seen.insert(id).inserted == true {
            groups[key]?.objects.append(id)
        }
    }

    /// Looks up the stored rows that have the values of new and changed objects, for the first `countMax` values.
    mutating func lookUp(countMax: Int, _ holder: (ConstraintName, [AttributeValue]) -> ObjectID?) {
        for key in keys.prefix(countMax) {
            guard let group = groups[key], !group.objects.isEmpty, group.stored == nil,
                let id = holder(key.name, key.values.map(\.value)), !group.seen.contains(id)
            else { continue }
            groups[key]?.stored = id
        }
    }

    /// The groups of at least two objects, one of them new or changed.
    var conflicts: [UniquenessConflict] {
        keys.compactMap { key in
            guard let group = groups[key], !group.objects.isEmpty, group.objects.count > 1 || group.stored != nil
            else { return nil }
            return UniquenessConflict(
                key.name, values: key.values.map(\.value), objects: group.objects, stored: group.stored)
        }
    }
}
