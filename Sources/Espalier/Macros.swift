// The macros of typed model classes: `@Entity` and the macros for its properties.

public import EspalierModel
public import FoundationEssentials

/// Makes a class an entity of the model: every stored `var` becomes an attribute or a relationship.
///
///     @Entity final class Track: ManagedObject {
///         var name: String = ""
///         var composer: String?
///         @Relationship(inverse: \Album.tracks) var album: Album?
///         var playlists: ToMany<Playlist>
///     }
///
/// A property whose type is `AttributeConvertible`, or an optional of such a type, is an attribute. An enumeration with
/// a raw value is stored as that value, a struct with `@Composite` as its elements, and a value of any other `Codable`
/// type as JSON; unless their properties are optional, they need a default. If `T` is an
/// entity's class, `T?` is a to-one, `ToMany<T>` a to-many and `OrderedToMany<T>` an ordered to-many relationship.
/// `Set<T>` and `[T]` are to-many relationships too, whose values are all destinations at once: each change of such a
/// property, such as `insert` or `append`, takes O(destinations). Computed and static properties do not change. A
/// default value belongs to the model: it is computed once, so that the time, a new identifier and a random value are
/// errors; set these in `awakeFromInsert()`.
///
/// An initializer of the class is a convenience one, and begins with `self.init(context:)`, or with `self.init()` for
/// an object that joins a context later:
///
///     convenience init(context: ManagedObjectContext, name: String) {
///         self.init(context: context)
///         self.name = name
///     }
///
/// A class that belongs to an actor has no table of key paths, because none may be formed outside of the actor: its
/// properties are named by texts in requests and checks.
///
/// An initializer that fails after this call leaves the object in the context: check the arguments before it.
///
/// An entity has the name of its class. Where the class needs another one, because the name belongs to Swift or because
/// the classes of an application have a prefix, the argument `name` tells the name of the entity, which files and
/// conditions use:
///
///     @Entity(name: "Data") final class DataRecord: ManagedObject { … }
///
/// - Parameters:
///   - name: The name of the entity, as a literal; `nil` = that of the class.
///   - isAbstract: Whether objects exist only of subclasses of this class.
///   - uniquenessConstraints: Groups of properties whose values together must be unique (MD-12), by name; `#Unique`
///     takes key paths.
///   - constraintActions: The actions of a save on new objects whose values another one has, by group (F-6); without
///     one the merge policy decides. `#Unique` takes an action beside its key paths.
///   - indexes: Indexes besides those of `@Attribute(.indexed)` and `#Index`.
///   - originalName: The name in an older version of the model (MD-33).
///   - hashModifier: A text that changes the version hash where nothing else has changed (MD-05).
@attached(
    member,
    names: named(entityName), named(entityDescription), named(_entityProperties), named(_propertyPaths), named(init)
)
@attached(memberAttribute)
@attached(peer)
public macro Entity(
    name: String? = nil, isAbstract: Bool = false, uniquenessConstraints: [[String]] = [],
    constraintActions: [[String]: ConstraintAction] = [:], indexes: [EntityDescription.Index] = [],
    originalName: String? = nil, hashModifier: String? = nil
) = #externalMacro(module: "EspalierMacros", type: "EntityMacro")

/// Adds indexes to the `@Entity` class in whose body it is, one for each list of properties (SD-07).
///
///     @Entity final class Track: ManagedObject {
///         #Index<Track>([\.year], [\.artist, \.title])
///         var title: String = ""
///         var artist: String = ""
///         var year: Int = 0
///     }
///
/// The values ascend. The index has the names of its properties, joined by `_`, and ends with `_folded` if it ignores
/// differences, then with `_partial` if it has a condition.
///
///     #Index<Track>([\.year], matching: Track.isFavourite)
///     static let isFavourite: Predicate<Track> = #Predicate { $0.rating > 4 }
///     #Index<Track>([\.title], ignoring: [.caseInsensitive, .diacriticInsensitive])
///     #Index<Person>([\.home?.city])
///
/// A fetch uses an index with a condition if its own predicate requires the same, and one that ignores differences for
/// `==[cd]`, `IN[cd]`, `BEGINSWITH[cd]` and orders that ignore the same ones (FR-25). An expression is no key path:
/// the argument `indexes` of `@Entity` declares an index of one, as in
/// `EntityDescription.Index("lower", on: [.init(expression: "lowercase(title)")])`. It is a text there, because the
/// compiler reads the arguments of `@Entity` before it knows the class; a description may have an `#Expression`.
///
/// - Parameters:
///   - properties: Lists of key paths of attributes, elements of composites and to-one relationships, most significant
///     first.
///   - condition: The condition for an object to be in the indexes, on its own values: a format as `FetchPredicate`
///     parses it.
///   - predicate: The same condition as a `#Predicate`, which the compiler checks: the name of a constant, because the
///     compiler finds no macro within the arguments of this one.
///   - options: The differences between texts that the indexes ignore: case, diacritics or both.
@freestanding(declaration)
public macro Index<Object: ManagedObject>(
    _ properties: [PartialKeyPath<Object>]..., where condition: String? = nil,
    matching predicate: Predicate<Object>? = nil, ignoring options: ComparisonOptions = []
) =
    #externalMacro(module: "EspalierMacros", type: "KeyPathGroupsMacro")

/// Adds uniqueness constraints to the `@Entity` class in whose body it is, one for each list of properties (SD-06,
/// MD-12).
///
///     #Unique<Track>([\.code], [\.artist, \.title])
///     #Unique<Track>([\.disc, \.number], onConflict: .merge)
///
/// - Parameters:
///   - properties: Lists of key paths of attributes and to-one relationships whose values together are unique.
///   - action: What a save does with a new object whose values another one has (F-6), for each of the lists; `nil` =
///     the merge policy decides.
@freestanding(declaration)
public macro Unique<Object: ManagedObject>(
    _ properties: [PartialKeyPath<Object>]..., onConflict action: ConstraintAction? = nil
) =
    #externalMacro(module: "EspalierMacros", type: "KeyPathGroupsMacro")

/// Reads and writes a property through the object's context. For @Entity only.
@attached(accessor)
public macro _EntityProperty(at index: Int) = #externalMacro(module: "EspalierMacros", type: "PropertyAccessorMacro")

/// An option of `@Attribute`.
public struct AttributeOption: Sendable, Hashable {
    /// The store keeps an index of the attribute.
    public static let indexed = AttributeOption(.indexed)
    /// A store may keep large values of binary data in files of their own (MD-22).
    ///
    /// The stores of Espalier keep them in the pages of their own file: see the article NotYet, MD-22.
    public static let externalStorage = AttributeOption(.externalStorage)
    /// No two objects have the same value; a save refuses a new object with a value that another one has, unless the
    /// merge policy decides otherwise.
    public static let unique = AttributeOption(.unique(nil))

    /// No two objects have the same value; the save does this with a new object whose value another one has (F-6).
    public static func unique(onConflict action: ConstraintAction) -> AttributeOption {
        AttributeOption(.unique(action))
    }

    /// The transformer that is registered under this name turns the values into bytes and back (MD-24).
    public static func transformable(by name: String) -> AttributeOption { AttributeOption(.transformable(by: name)) }

    /// Stores compute the value by this rule, and the property can only be read (MD-27).
    ///
    ///     @Attribute(.derived(.count(of: \Album.tracks))) var trackCount: Int
    ///     @Attribute(.derived(.canonical(of: \Album.title))) var canonicalTitle: String
    public static func derived(_ rule: DerivedValue) -> AttributeOption { AttributeOption(.derived(rule)) }

    /// A value is not less than this one (MD-16).
    public static func minimum(_ limit: some AttributeConvertible, message: String? = nil) -> AttributeOption {
        AttributeOption(.minimum(limit, message: message))
    }
    /// A value is not greater than this one (MD-16).
    public static func maximum(_ limit: some AttributeConvertible, message: String? = nil) -> AttributeOption {
        AttributeOption(.maximum(limit, message: message))
    }
    /// A text has at least this many characters, binary data at least this many bytes (MD-16).
    public static func minimumLength(_ count: Int, message: String? = nil) -> AttributeOption {
        AttributeOption(.minimumLength(count, message: message))
    }
    /// A text has at most this many characters, binary data at most this many bytes (MD-16).
    public static func maximumLength(_ count: Int, message: String? = nil) -> AttributeOption {
        AttributeOption(.maximumLength(count, message: message))
    }
    /// The whole text matches a regular expression (MD-16).
    public static func pattern(_ pattern: String, message: String? = nil) -> AttributeOption {
        AttributeOption(.pattern(pattern, message: message))
    }
    /// A condition holds, in which `SELF` is the value (MD-16).
    public static func predicate(_ format: String, message: String? = nil) -> AttributeOption {
        AttributeOption(.predicate(format, message: message))
    }
    /// A predicate holds for the value (MD-16): `.matching(#Predicate<Int> { $0 % 2 == 0 })`.
    public static func matching<Value: AttributeConvertible>(
        _ predicate: Predicate<Value>, message: String? = nil
    ) -> AttributeOption { AttributeOption(.matching(predicate, message: message)) }

    // The macro reads the options from the source; the compiler checks their types.
    private enum Kind: Hashable {
        case indexed
        case externalStorage
        case unique(ConstraintAction?)
        case transformable(by: String)
        case derived(DerivedValue)
        case rule(ValidationRule)
    }

    private let kind: Kind

    private init(_ kind: Kind) { self.kind = kind }
    private init(_ rule: ValidationRule) { kind = .rule(rule) }
}

/// Adds options to an attribute of an `@Entity` class, or rules to an element of a `@Composite` struct.
///
/// - Parameters:
///   - options: Literals, as in `.indexed, .unique`, `.unique(onConflict: .merge)` or `.maximumLength(80)`.
///   - originalName: The name in an older version of the model (MD-33).
///   - hashModifier: A text that changes the version hash where nothing else has changed (MD-05).
@attached(peer)
public macro Attribute(
    _ options: AttributeOption..., originalName: String? = nil, hashModifier: String? = nil
) =
    #externalMacro(module: "EspalierMacros", type: "PropertyMarkMacro")

/// Keeps an attribute of an `@Entity` class only in the object: changes are tracked but never stored (MO-40).
///
/// Its key path names it wherever a value in memory is meant: in checks and hooks, in `isChangedInEvent`, in primitive
/// access, and in `matches(_:)`, `filter(_:)` and `sorted(by:)` of objects in memory. A fetch with its key path is
/// refused, because no store has the values (PX-02).
@attached(peer)
public macro Transient() = #externalMacro(module: "EspalierMacros", type: "PropertyMarkMacro")

/// Adds options to a relationship of an `@Entity` class.
///
/// Name the inverse relationship by a key path at one end, or by its name at one end or both. A relationship that is
/// its own inverse needs the name: the compiler rejects key paths that lead to each other, or to themselves, as
/// circular. In both forms it is an error at the property if the destination has no such property.
///
///     @Entity final class Person: ManagedObject {
///         @Relationship(inverse: "friends") var friends: ToMany<Person>
///         @Relationship(inverse: \Person.reports) var boss: Person?
///         var reports: ToMany<Person>
///     }
///
/// - Parameters:
///   - inverse: The inverse relationship: a key path literal of one property such as `\Album.tracks`, or its name such
///     as `"tracks"` (MD-30).
///   - deleteRule: What happens to the destinations when the object is deleted.
///   - isRequired: Whether it must not be empty when saved.
///   - minimum: The least number of destinations; 0 = no limit (MD-29).
///   - maximum: The greatest number of destinations; `nil` = no limit.
///   - originalName: The name in an older version of the model (MD-33).
///   - hashModifier: A text that changes the version hash where nothing else has changed (MD-05).
@attached(peer)
public macro Relationship(
    inverse: Any? = nil, deleteRule: DeleteRule = .nullify, isRequired: Bool = false, minimum: Int = 0,
    maximum: Int? = nil, originalName: String? = nil, hashModifier: String? = nil
) = #externalMacro(module: "EspalierMacros", type: "PropertyMarkMacro")

/// Makes a property of an `@Entity` class the result of a request (FR-24): an array of objects that can only be read.
///
///     @FetchedProperty(
///         matching: #Predicate<Album, Album> { album, source in album.genre == source.genre && album != source },
///         sortedBy: [.init(TypedSortKey(\Album.title))])
///     var similar: [Album]
///
/// The type must be written as a list, `[Album]` or `Array<Album>`: a macro cannot see the type that a typealias stands
/// for, and anything else is an error at the type.
///
/// The request is made when the property is first read, and its result is kept until the object is refreshed. If the
/// request fails, the property is empty and the next save reports the error; `fetchedObjects(forKey:)` throws it.
///
/// - Parameters:
///   - condition: In Core Data's predicate language, with the variables `$FETCH_SOURCE` for the object and
///     `$FETCHED_PROPERTY` for the description (PR-15); `nil` for all objects.
///   - predicate: The condition as a `#Predicate`, which the compiler checks: of the class of the results, or of this
///     class and the class that has the property.
///   - sortElements: The order of the objects, most significant criterion first.
///   - limit: The greatest number of objects; 0 for no limit.
///   - userInfo: Texts of the application's own, which the condition reads as `$FETCHED_PROPERTY.userInfo.name`.
@attached(peer)
public macro FetchedProperty(
    where condition: String? = nil, matching predicate: Any? = nil,
    sortedBy sortElements: [FetchedPropertyDescription.SortElement] = [], limit: Int = 0,
    userInfo: [String: String] = [:]
) = #externalMacro(module: "EspalierMacros", type: "PropertyMarkMacro")

/// Makes a struct the type of composite attributes: its stored properties become the elements (MD-26).
///
///     @Composite struct Address {
///         var street: String
///         var city: String = ""
///         var country: Country?
///     }
///     @Entity final class Person: ManagedObject {
///         var home: Address?
///     }
///     FetchPredicate(format: "home.city == %@", "Oslo")
///
/// An element may have rules: `@Attribute(.maximumLength(5)) var zip: String`. A save that breaks one reports the
/// property `home.zip`.
///
/// An element is `AttributeConvertible`, or an enumeration with a raw value and a default, or an optional of one of
/// them; a composite can be an element of another one. A struct reads as a whole: while a required element has no
/// value, it is the element's default, or that of its type.
@attached(extension, conformances: CompositeConvertible, names: named(_elements), named(init(_from:)), named(_write))
public macro Composite() = #externalMacro(module: "EspalierMacros", type: "CompositeMacro")
