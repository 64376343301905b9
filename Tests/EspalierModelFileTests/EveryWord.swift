// A model file, made for these tests, with every element and every attribute that has been found in files, and with all
// words for rules of attributes.

enum EveryWord {
    /// The file as the editor would write it.
    static let xml = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22522" \
        systemVersion="23A344" minimumToolsVersion="Automatic" sourceLanguage="Swift" usedWithCloudKit="NO" \
        usedWithSwiftData="YES" userDefinedModelVersionIdentifier="2.1">
            <entity name="Base" representedClassName=".Base" isAbstract="YES" elementID="Root" \
        versionHashModifier="m1" syncable="YES" codeGenerationType="class" customClassName="B" \
        spotlightIndexingEnabled="YES">
                <attribute name="key" attributeType="UUID" usesScalarValueType="NO" indexed="YES"/>
                <fetchIndex name="byKey">
                    <fetchIndexElement property="key" type="Binary" order="descending"/>
                </fetchIndex>
                <userInfo>
                    <entry key="a" value="1 &lt; 2 &amp; &quot;x&quot;&#10;y"/>
                    <entry key="b" value=""/>
                </userInfo>
            </entity>
            <entity name="Thing" representedClassName="Thing" parentEntity="Base" syncable="YES">
                <attribute name="bits" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES" \
        preserveAfterDeletion="YES"/>
                <attribute name="blue" attributeType="Boolean" defaultValueString="YES" usesScalarValueType="YES"/>
                <attribute name="born" attributeType="Date" minDateTimeInterval="-86400.5" \
        maxDateTimeInterval="864000" defaultDateTimeInterval="-86400.5" usesScalarValueType="NO"/>
                <attribute name="cost" optional="YES" attributeType="Decimal" defaultValueString="-12.50" \
        elementID="price" versionHashModifier="m2"/>
                <attribute name="crowd" optional="YES" attributeType="Integer 64" derived="YES" \
        derivationExpression="friends.@count"/>
                <attribute name="days" attributeType="Integer 16" minValueString="-7.0" maxValueString="366" \
        defaultValueString="-7"/>
                <attribute name="echo" optional="YES" attributeType="String" derived="YES" \
        derivationExpression="lowercase:(memo)"/>
                <attribute name="heat" attributeType="Float" defaultValueString="0.25"/>
                <attribute name="home" optional="YES" attributeType="URI" defaultValueString="https://example.com/a"/>
                <attribute name="mass" attributeType="Double" defaultValueString="1e+100"/>
                <attribute name="memo" attributeType="String" minValueString="0" maxValueString="80" \
        defaultValueString="a &amp; b" regularExpressionString="[^&lt;&gt;]*" \
        spotlightIndexingEnabled="YES" storedInTruthFile="YES"/>
                <attribute name="rows" attributeType="Integer 32" defaultValueString="0.0"/>
                <attribute name="runs" attributeType="Integer 64" defaultValueString="9223372036854775807"/>
                <attribute name="size" optional="YES" attributeType="Composite" composite="Size"/>
                <attribute name="some" optional="YES" transient="YES" attributeType="Undefined"/>
                <attribute name="sort" optional="YES" attributeType="Transformable" \
        valueTransformerName="ColorTransformer" customClassName="Color" allowsCloudEncryption="YES"/>
                <attribute name="tag" optional="YES" attributeType="UUID" \
        defaultValueString="6BA7B810-9DAD-11D1-80B4-00C04FD430C8"/>
                <attribute name="void" optional="YES" transient="YES"/>
                <relationship name="friends" optional="YES" toMany="YES" minCount="1" maxCount="9" \
        deletionRule="Cascade" ordered="YES" destinationEntity="Thing" inverseName="owner" inverseEntity="Thing" \
        elementID="pals" versionHashModifier="m3" indexed="YES" spotlightIndexingEnabled="NO"/>
                <relationship name="loose" maxCount="1" deletionRule="No Action" destinationEntity="Base"/>
                <relationship name="owner" optional="YES" maxCount="1" deletionRule="Deny" \
        destinationEntity="Thing" inverseName="friends" inverseEntity="Thing">
                    <userInfo>
                        <entry key="c" value="d"/>
                    </userInfo>
                </relationship>
                <relationship name="shadow" optional="YES" transient="YES" maxCount="1" deletionRule="Nullify" \
        destinationEntity="Thing"/>
                <fetchedProperty name="peers" optional="YES" syncable="YES">
                    <fetchRequest name="fetchedPropertyFetchRequest" entity="Thing" \
        predicateString="memo == $FETCH_SOURCE.memo" fetchLimit="2" includeSubentities="NO"/>
                    <userInfo>
                        <entry key="e" value="f"/>
                    </userInfo>
                </fetchedProperty>
                <compoundIndexes>
                    <compoundIndex>
                        <index value="days"/>
                        <index value="rows"/>
                    </compoundIndex>
                </compoundIndexes>
                <fetchIndex name="byKey">
                    <fetchIndexElement property="cost" type="Binary" order="ascending"/>
                    <fetchIndexElement property="owner" type="Binary" order="descending"/>
                </fetchIndex>
                <fetchIndex name="byWords" partialIndexPredicate="days &gt; 3">
                    <fetchIndexElement expression="canonical:(memo)" expressionType="String" type="Binary" \
        order="ascending"/>
                    <fetchIndexElement expression="days * rows" expressionType="Integer 64" type="Binary" \
        order="descending"/>
                </fetchIndex>
                <uniquenessConstraints>
                    <uniquenessConstraint>
                        <constraint value="memo"/>
                        <constraint value="runs"/>
                    </uniquenessConstraint>
                    <uniquenessConstraint>
                        <constraint value="tag"/>
                    </uniquenessConstraint>
                </uniquenessConstraints>
            </entity>
            <fetchRequest name="all" entity="Thing"/>
            <fetchRequest name="some" entity="Thing" predicateString="memo == $MEMO" fetchLimit="3" \
        fetchBatchSize="20" includeSubentities="NO" includePropertyValues="YES" includesPendingChanges="NO" \
        returnObjectsAsFaults="NO" returnDistinctResults="YES"/>
            <configuration name="Local" usedWithCloudKit="NO">
                <memberEntity name="Thing"/>
                <memberEntity name="Base"/>
            </configuration>
            <composite name="Point">
                <attribute name="x" attributeType="Double" defaultValueString="0.0"/>
                <attribute name="y" optional="YES" attributeType="Double"/>
            </composite>
            <composite name="Size">
                <attribute name="corner" optional="YES" attributeType="Composite" composite="Point"/>
                <attribute name="unit" attributeType="String" defaultValueString="m"/>
            </composite>
            <elements>
                <element name="Base" positionX="-63.5" positionY="-18" width="128" height="74"/>
                <element name="Thing" positionX="0" positionY="0" width="128" height="74"/>
            </elements>
        </model>
        """
}
