"""Archives of models, as Core Data compiles them and keeps them in stores: for make-corpus.py and make-zoo.py."""
import os
import plistlib
import xml.etree.ElementTree

FOLDER = os.path.dirname(os.path.abspath(__file__))
TYPES = {"Integer 16": 100, "Integer 32": 200, "Integer 64": 300, "Decimal": 400, "Double": 500, "Float": 600,
         "String": 700, "Boolean": 800, "Date": 900, "Binary": 1000, "UUID": 1100, "URI": 1200, "Transformable": 1800,
         "Composite": 2100}
CLASSES = {"Composite": "NSCompositeAttributeDescription"}


class Archive:
    """A keyed archive."""

    def __init__(self):
        self.objects, self.classes = ["$null"], {}

    def add(self, item):
        self.objects.append(item)
        return plistlib.UID(len(self.objects) - 1)

    def instance(self, name, **fields):
        if name not in self.classes:
            self.classes[name] = self.add({"$classname": name, "$classes": [name, "NSObject"]})
        return self.add({**fields, "$class": self.classes[name]})

    def map(self, entries):
        return self.instance("NSDictionary", **{"NS.keys": [self.add(key) for key in entries],
                                                "NS.objects": list(entries.values())})

    def list(self, items):
        return self.instance("NSArray", **{"NS.objects": items})

    def data(self, root):
        top = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": root}, "$objects": self.objects}
        return plistlib.dumps(top, fmt=plistlib.FMT_BINARY)


def comparison(archive, path, kind, constant):
    """A predicate on a value, or on a property of it."""
    left = archive.instance("NSSelfExpression", NSExpressionType=1)
    if path:
        specifier = archive.instance("NSKeyPathSpecifierExpression", NSKeyPath=archive.add(path), NSExpressionType=10)
        left = archive.instance("NSKeyPathExpression", NSOperand=left, NSArguments=archive.list([specifier]),
                                NSSelectorName=archive.add("valueForKeyPath:"), NSExpressionType=3)
    right = archive.instance("NSConstantValueExpression", NSConstantValue=archive.add(constant), NSExpressionType=0)
    options = {"NSFlags": 0} if kind == 6 else {"NSOptions": 0, "NSNegate": False}
    operation = archive.instance("NSMatchingPredicateOperator" if kind == 6 else "NSComparisonPredicateOperator",
                                 NSOperatorType=kind, NSModifier=0, **options)
    return archive.instance("NSComparisonPredicate", NSLeftExpression=left, NSRightExpression=right,
                            NSPredicateOperator=operation)


def compiled(name, rules=False):
    """The archive of a model file of this folder, perhaps with rules."""
    root = xml.etree.ElementTree.parse(os.path.join(FOLDER, name, "contents")).getroot()
    archive, entities = Archive(), {}
    for entity in root.iter("entity"):
        properties = {}
        for part in entity:
            fields = {"NSIsOptional": part.get("optional") == "YES", "NSPropertyName": archive.add(part.get("name"))}
            if part.tag == "attribute":
                fields["NSAttributeType"] = TYPES[part.get("attributeType")]
                if part.get("allowsExternalBinaryDataStorage"):
                    fields["NSFlagsKey"] = 4
                predicates = {"String": [("length", 3, 0), ("length", 1, 9), ("", 6, ".*")], "Double": [("", 3, -1.5)],
                              "Date": [("timeIntervalSinceReferenceDate", 1, 9e8)], "Integer 16": [("", 0, 5)]}
                found = predicates.get(part.get("attributeType"), []) if rules else []
                if found:
                    fields["NSValidationPredicates"] = archive.list([comparison(archive, *rule) for rule in found])
                    fields["NSValidationWarnings"] = archive.list([archive.add("too much"), archive.add(1610)])
                kind = "NSDerivedAttributeDescription" if part.get("derived") else "NSAttributeDescription"
                kind = CLASSES.get(part.get("attributeType"), kind)
                properties[part.get("name")] = archive.instance(kind, **fields)
                continue
            fields["_NSDestinationEntityName"] = archive.add(part.get("destinationEntity"))
            if part.get("inverseName"):
                fields["_NSInverseRelationshipName"] = archive.add(part.get("inverseName"))
            fields.update(NSMinCount=0, NSMaxCount=0 if part.get("toMany") else 1, NSDeleteRule=1,
                          NSIsOrdered=part.get("ordered") == "YES")
            properties[part.get("name")] = archive.instance("NSRelationshipDescription", **fields)
        name = entity.get("name")
        fields = {"NSEntityName": archive.add(name), "NSClassNameForEntity": archive.add(name),
                  "NSIsAbstract": entity.get("isAbstract") == "YES", "NSProperties": archive.map(properties)}
        if entity.get("parentEntity"):
            fields["NSSuperentity"] = entities[entity.get("parentEntity")]
        entities[name] = archive.instance("NSEntityDescription", **fields)
    return archive.data(archive.instance("NSManagedObjectModel", NSEntities=archive.map(entities)))
