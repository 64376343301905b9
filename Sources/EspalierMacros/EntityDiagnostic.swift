// Every error that the macros report, each with a text that names the remedy; EntityFix has the fixes.

import SwiftDiagnostics

enum EntityDiagnostic: DiagnosticMessage {
    case notAClass(found: String)
    case inheritsNothing(name: String)
    case genericEntity(name: String)
    case overridden(name: String)
    case generatedName(String)
    case entityNameNotLiteral
    case emptyEntityName(className: String)
    case managedMark(name: String)
    case severalTypes(name: String, type: String)
    case constant(name: String)
    case untyped(name: String)
    case implicitlyUnwrapped(name: String)
    case observed
    case modified(name: String, modifier: String)
    case severalInOneDeclaration
    case momentaryDefault(name: String)
    case conditional(name: String)
    case reservedName(String)
    case ownInitializer
    case initializerWithoutDelegation
    case initializerOfEveryObject
    case groupsOutsideEntity(macro: String)
    case groupsOfOtherClass(macro: String, className: String)
    case groupNotLiteral(macro: String)
    case groupOfUnmodelledProperty(macro: String, name: String)
    case noGroups(macro: String)
    case groupTwice(names: [String])
    case actionTwice(names: [String])
    case twoConditions
    case macroInCondition
    case conditionNotPredicate
    case transformableDefault(name: String)
    case derivedDefault(name: String)
    case derivedPathNotLiteral
    case ruleOnType(rule: String, name: String, type: String)
    case limitOfOtherType(rule: String, name: String, type: String, found: Literal.Kind)
    case limitsOutOfOrder(least: String, greatest: String)
    case negativeCount(rule: String)
    case transientOption(name: String, option: String)
    case notAStruct(found: String)
    case genericComposite
    case noElements(name: String)
    case contradictingMarks(name: String, other: String)
    case relationshipMarkOnAttribute(name: String, type: String)
    case relationshipToAttribute(collection: String, type: String)
    case attributeMarkOnCollection(name: String, mark: String)
    case markTwice(name: String, mark: String)
    case optionNotLiteral
    case optionOfElement
    case inverseNotLiteral
    case inverseOfItself(name: String)
    case fetchedWithMark(name: String, other: String)
    case fetchedDefault(name: String)
    case fetchedNotList(name: String)
    case markOutsideEntity(mark: String)
    case markOnUnmodelledProperty(mark: String)

    var message: String {
        switch self {
        case .notAClass(let found):
            "@Entity belongs on a class that inherits from ManagedObject, but this is declared with '\(found)'"
        case .inheritsNothing(let name): "\(name) must inherit from ManagedObject or from another entity's class"
        case .genericEntity(let name):
            "\(name) cannot be generic: an entity is one class, with one table of properties"
        case .overridden(let name):
            "\(name) is a property of the superclass's entity already; remove it here, or override it with a computed "
                + "property"
        case .generatedName(let name):
            "@Entity declares '\(name)' itself, by the name and the properties of the class; remove this one"
        case .entityNameNotLiteral:
            "write the name of the entity as a literal of letters, digits and '_', such as '\"Person\"': the macro "
                + "reads it"
        case .emptyEntityName(let className):
            "an entity has a name: write one, or leave out 'name' to call the entity '\(className)' as its class"
        case .managedMark(let name): "\(name) needs no @NSManaged: @Entity makes it a property of the model"
        case .severalTypes(let name, let type):
            "\(name) is '\(type)', which stands for values of several types; an entity stores values of one, such as "
                + "an enumeration or a struct that is Codable"
        case .constant(let name):
            "\(name) is a property of the model and must be a 'var'; use 'static let' for a constant of the class"
        case .untyped(let name): "\(name) needs an explicit type, from which the model is made"
        case .implicitlyUnwrapped(let name):
            "\(name) cannot be implicitly unwrapped; write '?' if it can have no value"
        case .observed: "a property of the model cannot have observers; override willSave(), or use a computed property"
        case .modified(let name, let modifier): "\(name) is a property of the model and cannot be '\(modifier)'"
        case .severalInOneDeclaration: "declare one property of the model in each 'var'"
        case .conditional(let name):
            "\(name) is within #if, so the model would differ from build to build; declare it outside"
        case .reservedName(let name):
            "every ManagedObject already has '\(name)'; give the property another name"
        case .ownInitializer:
            "a context makes objects with ManagedObject's initializers; write a 'convenience init' that calls "
                + "self.init(context:), or self.init() for an object that joins a context later"
        case .initializerWithoutDelegation:
            "an initializer of an entity class begins with self.init(context:), or with self.init() for an object that "
                + "joins a context later"
        case .initializerOfEveryObject:
            "every entity class has init(context:), which this one would hide and call forever; set the values of new "
                + "objects in awakeFromInsert(), or add a parameter"
        case .groupsOutsideEntity(let macro): "#\(macro) belongs in the body of a class with @Entity"
        case .groupsOfOtherClass(let macro, let name): "#\(macro) is about the class in which it is: write '\(name)'"
        case .groupNotLiteral(let macro):
            "write each group of #\(macro) as a list of key paths of one property each, such as '[\\.name, \\.year]'"
        case .groupOfUnmodelledProperty(let macro, let name):
            "\(name) is not a property of the model, so #\(macro) cannot name it"
        case .noGroups(let macro): "#\(macro) needs at least one list of key paths, such as '[\\.name]'"
        case .groupTwice(let names):
            "(\(names.joined(separator: ", "))) is unique already; remove one of the two"
        case .actionTwice(let names):
            "the argument 'constraintActions' of @Entity has an action for (\(names.joined(separator: ", "))), too; "
                + "remove one of the two"
        case .twoConditions: "there is a condition after 'where:' too; remove one of the two"
        case .macroInCondition:
            "the compiler finds no macro within the arguments of #Index; write the name of a constant, as in "
                + "'static let isOld: Predicate<Album> = #Predicate { $0.year < 1960 }'"
        case .conditionNotPredicate:
            "a condition after 'matching:' is a predicate, as in #Predicate<Album> { $0.year > 1960 }; write a text "
                + "after 'where:'"
        case .transformableDefault(let name):
            "\(name) is transformable and has no default, since its transformer may not be registered yet; set it in "
                + "awakeFromInsert()"
        case .derivedDefault(let name): "\(name) is derived and has no default: stores compute its value"
        case .derivedPathNotLiteral:
            "write the path as a key path literal of properties, such as '\\Track.title' or '\\Track.album?.title'"
        case .notAStruct(let found): "@Composite belongs on a struct, but this is declared with '\(found)'"
        case .genericComposite: "a composite struct cannot be generic: the types of its elements belong to the model"
        case .noElements(let name): "\(name) has no stored property that could be an element of a composite"
        case .momentaryDefault(let name):
            "the model computes the default of \(name) once, not for each object; set it in awakeFromInsert()"
        case .ruleOnType(let rule, let name, let type):
            "a rule '\(rule)' is for \(Self.subjects(of: rule)), but \(name) is \(type)"
        case .limitOfOtherType(let rule, let name, let type, let found):
            "the limit of '\(rule)' is \(found.rawValue), but \(name) is \(type)"
        case .limitsOutOfOrder(let least, let greatest):
            "'\(least)' is greater than '\(greatest)', so no value follows both rules; correct one of them"
        case .negativeCount(let rule): "'\(rule)' is a number of 0 or more"
        case .transientOption(let name, let option):
            "\(name) is transient, so no store has its values, and it cannot be '\(option)'"
        case .contradictingMarks(let name, let other):
            "\(name) cannot be a relationship and have @\(other), which is for attributes"
        case .relationshipMarkOnAttribute(let name, let type):
            "\(name) is an attribute, because \(type) is not an entity; @Relationship is for entity classes"
        case .relationshipToAttribute(let collection, let type):
            "\(collection) is a relationship to entities, and \(type) is none; write '[\(type)]' for an attribute with "
                + "a list of values"
        case .attributeMarkOnCollection(let name, let mark):
            "\(name) is a relationship, and @\(mark) is for attributes; options of relationships belong to "
                + "@Relationship"
        case .markTwice(let name, let mark): "\(name) has @\(mark) already; write all options in one mark"
        case .optionOfElement:
            "an element of a composite has rules only, such as '.maximumLength(5)'; other options belong to the "
                + "property of the class"
        case .optionNotLiteral:
            "write the options as literals such as '.indexed' and '.unique': the macro reads their names"
        case .inverseNotLiteral:
            "write the inverse as a key path of one property, such as '\\Album.tracks', or as its name, such as "
                + "'\"tracks\"'"
        case .inverseOfItself(let name):
            "a key path cannot lead from \(name) to \(name) itself; write the name of the inverse, '\"\(name)\"'"
        case .fetchedWithMark(let name, let other):
            "\(name) is a fetched property, whose value is never stored: remove @\(other)"
        case .fetchedDefault(let name): "\(name) is a fetched property and has no default: its request gives its value"
        case .fetchedNotList(let name):
            "\(name) is a fetched property, whose type is written as a list of entities, such as '[Album]'; the macro "
                + "cannot see the type that a typealias stands for"
        case .markOutsideEntity(let mark): "@\(mark) belongs on a stored property of a class with @Entity"
        case .markOnUnmodelledProperty(let mark):
            "@\(mark) belongs on a stored property; this is not a property of the model"
        }
    }

    /// The types of the values that a rule is about.
    private static func subjects(of rule: String) -> String {
        switch rule {
        case "minimumLength", "maximumLength": "the length of a String or Data"
        case "pattern": "a String"
        default: "values with an order, such as numbers, dates and texts"
        }
    }

    var diagnosticID: MessageID {
        let name = String(describing: self).prefix { $0 != "(" }
        return MessageID(domain: "Espalier", id: String(name))
    }

    var severity: DiagnosticSeverity { .error }
}
