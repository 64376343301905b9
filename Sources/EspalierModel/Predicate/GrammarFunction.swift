// The function names of the predicate grammar and their meaning (Behaviour PR-17).

/// The meaning of a function name in the grammar.
enum GrammarFunction {
    /// The kinds of operands that a function accepts.
    enum Operands {
        case numbers, text, any
    }

    /// An aggregate of a collection.
    case aggregate(ResolvedExpression.Aggregate)
    /// A function of single values.
    case scalar(ResolvedFunction, Operands, count: Int)
    /// A function of collections.
    case collection(ResolvedFunction, count: Int)
    /// `objectFrom:withIndex:`, written `collection[n]`.
    case element
    /// `castObject:toType:`, written `CAST(value, 'type')`.
    case cast
    /// The time at which the predicate is resolved.
    case now
    /// The names of an entity and of all that inherit from it: `SELF.entity IN entityFamily("Media")`.
    case entityFamily
    /// Part of the grammar, but not supported: the alternative to use.
    case refused(instead: String)

    /// The functions by name; a function of one argument is listed without its colon.
    static let byName: [String: GrammarFunction] = [
        "count": .aggregate(.count), "sum": .aggregate(.sum), "average": .aggregate(.average),
        "min": .aggregate(.min), "max": .aggregate(.max), "median": .aggregate(.median), "mode": .aggregate(.mode),
        "stddev": .aggregate(.stddev),
        "add:to:": .scalar(.add, .any, count: 2), "from:subtract:": .scalar(.subtract, .any, count: 2),
        "multiply:by:": .scalar(.multiply, .numbers, count: 2), "divide:by:": .scalar(.divide, .numbers, count: 2),
        "modulus:by:": .scalar(.modulus, .numbers, count: 2), "raise:toPower:": .scalar(.power, .numbers, count: 2),
        "sqrt": .scalar(.squareRoot, .numbers, count: 1), "abs": .scalar(.absolute, .numbers, count: 1),
        "floor": .scalar(.floor, .numbers, count: 1), "ceiling": .scalar(.ceiling, .numbers, count: 1),
        "trunc": .scalar(.truncate, .numbers, count: 1), "uppercase": .scalar(.uppercase, .text, count: 1),
        "lowercase": .scalar(.lowercase, .text, count: 1), "canonical": .scalar(.canonical, .text, count: 1),
        "bitwiseAnd:with:": .scalar(.bitAnd, .numbers, count: 2),
        "bitwiseOr:with:": .scalar(.bitOr, .numbers, count: 2),
        "bitwiseXor:with:": .scalar(.bitXor, .numbers, count: 2),
        "leftshift:by:": .scalar(.shiftLeft, .numbers, count: 2),
        "rightshift:by:": .scalar(.shiftRight, .numbers, count: 2),
        "onesComplement": .scalar(.onesComplement, .numbers, count: 1), "noindex": .scalar(.noIndex, .any, count: 1),
        "union:with:": .collection(.union, count: 2), "intersect:with:": .collection(.intersect, count: 2),
        "minus:with:": .collection(.minus, count: 2), "distinct": .collection(.distinct, count: 1),
        "objectFrom:withIndex:": .element, "castObject:toType:": .cast, "now": .now,
        "characterCount": .scalar(.characterCount, .text, count: 1), "entityFamily": .entityFamily,
        "ln": .refused(instead: "compute it before and pass the value"),
        "log": .refused(instead: "compute it before and pass the value"),
        "exp": .refused(instead: "compute it before and pass the value"),
        "random": .refused(instead: "a condition must give the same answer each time"),
        "random:": .refused(instead: "a condition must give the same answer each time"),
        "distanceToLocation:fromLocation:": .refused(instead: "compare latitude and longitude with BETWEEN"),
    ]

    /// The types that CAST supports, under Core Data's class names and Espalier's names.
    static let castTypes: [String: AttributeType] = [
        "NSNumber": .double, "NSDecimalNumber": .decimal, "NSString": .string, "NSDate": .date, "NSData": .binary,
        "NSUUID": .uuid, "NSURL": .uri, "NSManagedObjectID": .objectID, "integer": .integer64, "double": .double,
        "float": .float, "decimal": .decimal, "string": .string, "boolean": .boolean, "date": .date,
        "binary": .binary, "uuid": .uuid, "uri": .uri, "transformable": .transformable, "objectID": .objectID,
    ]

    /// `name` in the spelling of `byName`: without the colon of a function of one argument.
    static func normalized(_ name: String) -> String {
        let bare = name.hasSuffix(":") ? String(name.dropLast()) : name
        return byName[bare] == nil ? name : bare
    }
}
