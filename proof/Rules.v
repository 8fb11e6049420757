(** The cells: a table of decisions as data, the rules that it should equal, and the check.

    The layout is that of the exported table (src/augury/models/discrete.json): an entry is found
    by the own bits, the set of kinds that are heard and the output, and is 1, 0, or -1 where a
    case does not occur.  A decision is 1 if the entry is positive. *)
From Coq Require Import ZArith List Lia Bool Arith.
Import ListNotations.
Open Scope nat_scope.

Definition entries := list (list (list Z)).

Record table := Table {
  flood : entries;
  nearest : list Z;
  least : entries;
  subtract : entries
}.

Definition said (t : entries) (own heard output : nat) : bool :=
  (0 <? nth output (nth heard (nth own t []) []) (-1))%Z.

(** ** Sets of kinds *)

Definition pair_kind (x y : bool) : nat := 2 * Nat.b2n x + Nat.b2n y.

Lemma pair_kind_below x y : pair_kind x y < 4.
Proof. destruct x, y; unfold pair_kind; simpl; lia. Qed.

(** A set of kinds as a number with bit k for kind k: the OR of 1 << kind, as in [sets_of]. *)
Fixpoint set_of (kinds : list nat) : nat :=
  match kinds with [] => 0 | k :: rest => Nat.lor (2 ^ k) (set_of rest) end.

Lemma set_of_spec kinds k : Nat.testbit (set_of kinds) k = existsb (Nat.eqb k) kinds.
Proof.
  induction kinds as [|x rest IH]; simpl; [apply Nat.bits_0|].
  rewrite Nat.lor_spec, IH. f_equal. rewrite Nat.pow2_bits_eqb. apply Nat.eqb_sym.
Qed.

Lemma set_of_in kinds k : Nat.testbit (set_of kinds) k = true <-> In k kinds.
Proof.
  rewrite set_of_spec, existsb_exists. split.
  - intros [x [I E]]. apply Nat.eqb_eq in E. now subst.
  - intros I. exists k. split; [assumption|apply Nat.eqb_refl].
Qed.

Lemma below_by_bits n k : (forall i, k <= i -> Nat.testbit n i = false) -> n < 2 ^ k.
Proof.
  intros H. destruct (Nat.eq_dec n 0) as [->|N].
  - apply Nat.neq_0_lt_0. apply Nat.pow_nonzero. lia.
  - apply Nat.log2_lt_pow2; [lia|]. destruct (le_lt_dec k (Nat.log2 n)) as [L|]; [|assumption].
    specialize (H _ L). rewrite Nat.bit_log2 in H by assumption. discriminate.
Qed.

Lemma set_of_below kinds : (forall k, In k kinds -> k < 4) -> set_of kinds < 16.
Proof.
  intros H. change 16 with (2 ^ 4). apply below_by_bits. intros i Hi.
  destruct (Nat.testbit (set_of kinds) i) eqn:E; [|reflexivity].
  apply set_of_in in E. apply H in E. lia.
Qed.

(** ** The rules *)

(** A node is reached once a reached node speaks to it by a usable link. *)
Definition flood_rule (reached : bool) (heard : nat) : bool * bool :=
  let news := Nat.testbit heard (pair_kind true true) in
  (reached || news, negb reached && news).

(** A candidate with the digit 1 is not the least if a candidate beside it has the digit 0. *)
Definition least_rule (candidate digit : bool) (heard : nat) : bool :=
  candidate && negb (digit && Nat.testbit heard (pair_kind true false)).

(** One digit of a subtraction in base two, and the borrow. *)
Definition subtract_rule (digit amount borrow : bool) : bool * bool :=
  let difference := (Z.b2z digit - Z.b2z amount - Z.b2z borrow)%Z in
  (Z.odd difference, (difference <? 0)%Z).

(** A message to a node that chooses: reached, usable, and a weight of four bits. *)
Definition link_kind (reached usable : bool) (weight : nat) : nat :=
  16 * pair_kind reached usable + weight.

(** A link is valid if its sender is reached and it is usable; the lighter the better. *)
Definition link_rank (kind : nat) : nat := if 48 <? kind then 64 - kind else 0.

(** Only a self loop weighs 0, and the node that chooses is not reached yet. *)
Definition link_occurs (kind : nat) : bool := negb (kind mod 16 =? 0) || (kind <? 16).

(** ** "The table equals the rules", as a computation *)

Definition bools := [false; true].

Definition flood_equals (t : entries) : bool :=
  forallb (fun own => forallb (fun heard =>
    implb (Nat.testbit heard (pair_kind own false))
      (eqb (said t (Nat.b2n own) heard 0) (fst (flood_rule own heard)) &&
       eqb (said t (Nat.b2n own) heard 1) (snd (flood_rule own heard))))
    (seq 0 16)) bools.

Definition least_equals (t : entries) : bool :=
  forallb (fun candidate => forallb (fun digit => forallb (fun heard =>
    implb (Nat.testbit heard (pair_kind candidate digit))
      (eqb (said t (pair_kind candidate digit) heard 0) (least_rule candidate digit heard)))
    (seq 0 16)) bools) bools.

Definition subtract_own (digit amount borrow : bool) : nat :=
  2 * pair_kind digit amount + Nat.b2n borrow.

Definition subtract_equals (t : entries) : bool :=
  forallb (fun digit => forallb (fun amount => forallb (fun borrow =>
    eqb (said t (subtract_own digit amount borrow) 0 0) (fst (subtract_rule digit amount borrow)) &&
    eqb (said t (subtract_own digit amount borrow) 0 1) (snd (subtract_rule digit amount borrow)))
    bools) bools) bools.

Definition score (t : list Z) (kind : nat) : Z := nth kind t 0%Z.

(** Of any two kinds that occur, the one of higher rank has the higher score. *)
Definition nearest_equals (t : list Z) : bool :=
  forallb (fun better => forallb (fun worse =>
    implb (link_occurs better && link_occurs worse && (link_rank worse <? link_rank better))
      (score t worse <? score t better)%Z)
    (seq 0 64)) (seq 0 64).

Definition equals_rules (t : table) : bool :=
  flood_equals (flood t) && nearest_equals (nearest t) &&
  least_equals (least t) && subtract_equals (subtract t).

(** ** What follows for each decision *)

Lemma in_bools b : In b bools.
Proof. destruct b; simpl; auto. Qed.

Lemma forallb_bools f b : forallb f bools = true -> f b = true.
Proof. intros H. rewrite forallb_forall in H. apply H, in_bools. Qed.

Lemma forallb_seq f n k : forallb f (seq 0 n) = true -> k < n -> f k = true.
Proof. intros H K. rewrite forallb_forall in H. apply H, in_seq. lia. Qed.

Lemma implb_true (a b : bool) : implb a b = true -> a = true -> b = true.
Proof. intros H ->. assumption. Qed.

Section Decisions.
Variable t : table.
Hypothesis E : equals_rules t = true.

Lemma parts : flood_equals (flood t) = true /\ nearest_equals (nearest t) = true /\
  least_equals (least t) = true /\ subtract_equals (subtract t) = true.
Proof.
  unfold equals_rules in E. apply andb_true_iff in E. destruct E as [E1 H4].
  apply andb_true_iff in E1. destruct E1 as [E2 H3]. apply andb_true_iff in E2. tauto.
Qed.

Lemma flood_decides own kinds : (forall k, In k kinds -> k < 4) -> In (pair_kind own false) kinds ->
  said (flood t) (Nat.b2n own) (set_of kinds) 0
    = own || existsb (Nat.eqb (pair_kind true true)) kinds /\
  said (flood t) (Nat.b2n own) (set_of kinds) 1
    = negb own && existsb (Nat.eqb (pair_kind true true)) kinds.
Proof.
  intros B S. destruct parts as [H _].
  apply forallb_bools with (b := own) in H.
  apply forallb_seq with (k := set_of kinds) in H; [|now apply set_of_below].
  apply set_of_in in S. apply (implb_true _ _ H) in S. clear H. rename S into H.
  apply andb_true_iff in H. destruct H as [H1 H2]. apply eqb_prop in H1, H2.
  rewrite H1, H2. unfold flood_rule. cbn [fst snd]. now rewrite set_of_spec.
Qed.

Lemma least_decides candidate digit kinds :
  (forall k, In k kinds -> k < 4) -> In (pair_kind candidate digit) kinds ->
  said (least t) (pair_kind candidate digit) (set_of kinds) 0
    = candidate && negb (digit && existsb (Nat.eqb (pair_kind true false)) kinds).
Proof.
  intros B S. destruct parts as [_ [_ [H _]]].
  apply forallb_bools with (b := candidate) in H.
  apply forallb_bools with (b := digit) in H.
  apply forallb_seq with (k := set_of kinds) in H; [|now apply set_of_below].
  apply set_of_in in S. apply (implb_true _ _ H) in S. clear H. rename S into H.
  apply eqb_prop in H. rewrite H. unfold least_rule. now rewrite set_of_spec.
Qed.

Lemma subtract_decides digit amount borrow :
  said (subtract t) (subtract_own digit amount borrow) 0 0
    = fst (subtract_rule digit amount borrow) /\
  said (subtract t) (subtract_own digit amount borrow) 0 1
    = snd (subtract_rule digit amount borrow).
Proof.
  destruct parts as [_ [_ [_ H]]].
  apply forallb_bools with (b := digit) in H.
  apply forallb_bools with (b := amount) in H.
  apply forallb_bools with (b := borrow) in H.
  apply andb_true_iff in H. destruct H as [H1 H2]. now apply eqb_prop in H1, H2.
Qed.

Lemma nearest_decides better worse : better < 64 -> worse < 64 ->
  link_occurs better = true -> link_occurs worse = true -> link_rank worse < link_rank better ->
  (score (nearest t) worse < score (nearest t) better)%Z.
Proof.
  intros B W OB OW R. destruct parts as [_ [H _]].
  apply forallb_seq with (k := better) in H; [|assumption].
  apply forallb_seq with (k := worse) in H; [|assumption].
  apply Nat.ltb_lt in R. apply Z.ltb_lt, (implb_true _ _ H). now rewrite OB, OW, R.
Qed.

End Decisions.
