// The table of objects in a keyed archive: each is a plain value, or an object of a class with named fields.
//
// Invariants
//   1. References are followed one step at a time, by number: archives contain cycles, and no method here recurses.
//   2. Each object is decoded once: an archive that lists one object several times is refused.
//   3. Names of fields are short: each of them is looked up for each object that has it.

/// A keyed archive.
struct KeyedArchive {
    typealias Value = BinaryPropertyList.Value

    /// An object of a class.
    struct Object {
        /// The object's number in the archive.
        let number: Int
        let className: String
        /// The fields by name, without `$class` and without references to the null object.
        let fields: [String: Value]
    }

    /// The maximum length of the name of a field in bytes; those of Core Data have up to 30.
    private static let nameByteCountMax = 256

    private let list: BinaryPropertyList
    /// The objects of the archive, as numbers in the property list.
    private let numbers: [Int]
    /// The decoded object for each of them, `nil` for a plain value; each is decoded once.
    private let objects: [Object?]
    /// The number of the object that was archived.
    let root: Int

    /// The archive in a property list; `nil` if the list is not a keyed archive.
    init?(_ list: BinaryPropertyList) {
        guard Self.hasShortNames(list) else { return nil }
        self.list = list
        let top = Self.strings(list, list.top)
        guard let objects = top["$objects"], case .array(let numbers) = list.objects[objects],
            let first = top["$top"], let root = Self.strings(list, first)["root"],
            case .reference(let number) = list.objects[root], numbers.indices.contains(number),
            numbers.count <= BinaryPropertyList.objectCountMax, Self.listsEachObjectOnce(numbers, list)
        else { return nil }
        (self.numbers, self.root) = (numbers, number)
        let classNames = numbers.map { number -> String? in
            guard let name = Self.strings(list, number)["$classname"], case .string(let text) = list.objects[name]
            else {
                return nil
            }
            return text
        }
        self.objects = numbers.indices.map { index in
            let entries = Self.strings(list, numbers[index])
            guard let link = entries["$class"], case .reference(let classNumber) = list.objects[link],
                classNames.indices.contains(classNumber), let className = classNames[classNumber]
            else { return nil }
            let named = entries.filter { $0.key != "$class" && !Self.isNothing(list.objects[$0.value], list, numbers) }
            return Object(number: index, className: className, fields: named.mapValues { list.objects[$0] })
        }
    }

    /// The value of the object with this number; `.null` if there is none.
    func value(_ number: Int) -> Value {
        numbers.indices.contains(number) ? list.objects[numbers[number]] : .null
    }

    /// The object with this number; `nil` if it is a plain value or there is none.
    func object(_ number: Int) -> Object? { objects.indices.contains(number) ? objects[number] : nil }

    /// The object that a field refers to.
    func object(_ field: Value?) -> Object? {
        guard case .reference(let number)? = field else { return nil }
        return object(number)
    }

    /// The text that a field holds or refers to.
    func text(_ field: Value?) -> String? {
        switch field {
        case .string(let text): text
        case .reference(let number): if case .string(let text) = value(number) { text } else { nil }
        default: nil
        }
    }

    /// The items of the array or set that a field refers to.
    func items(_ field: Value?) -> [Value] {
        guard let object = object(field), case .array(let items)? = object.fields["NS.objects"] else { return [] }
        return items.map { list.objects[$0] }
    }

    /// The keys and values of the dictionary that a field refers to.
    ///
    /// A dictionary with a key set that is known in advance keeps its keys in a separate object.
    func entries(_ field: Value?) -> [(key: Value, value: Value)] {
        guard let object = object(field) else { return [] }
        if let values = object.fields["values"], let mapping = self.object(object.fields["searchMapping"]) {
            return Array(zip(items(mapping.fields["keys"]), items(values)))
        }
        guard case .array(let keys)? = object.fields["NS.keys"] else { return [] }
        return Array(zip(keys.map { list.objects[$0] }, items(field)))
    }

    /// Whether no object of a class is listed twice; plain values that are equal may share their bytes.
    private static func listsEachObjectOnce(_ numbers: [Int], _ list: BinaryPropertyList) -> Bool {
        var seen: Set<Int> = []
        return numbers.allSatisfy { number in
            guard case .dictionary = list.objects[number] else { return true }
            return seen.insert(number).inserted
        }
    }

    /// Whether no dictionary has a key that is too long for the name of a field.
    private static func hasShortNames(_ list: BinaryPropertyList) -> Bool {
        list.objects.allSatisfy { object in
            guard case .dictionary(let keys, _) = object else { return true }
            return keys.allSatisfy { key in
                if case .string(let name) = list.objects[key] { name.utf8.count <= nameByteCountMax } else { true }
            }
        }
    }

    /// Whether a field refers to the null object.
    private static func isNothing(_ field: Value, _ list: BinaryPropertyList, _ numbers: [Int]) -> Bool {
        guard case .reference(let number) = field, numbers.indices.contains(number) else { return false }
        return list.objects[numbers[number]] == .string("$null")
    }

    /// The entries of a dictionary whose keys are strings; the values are numbers in the list.
    private static func strings(_ list: BinaryPropertyList, _ index: Int) -> [String: Int] {
        guard case .dictionary(let keys, let values) = list.objects[index] else { return [:] }
        var entries: [String: Int] = [:]
        for (key, value) in zip(keys, values) {
            if case .string(let name) = list.objects[key] { entries[name] = value }
        }
        return entries
    }
}
