(** The three shapes of cells as networks in floating point ([cells/network.py]), and checks, run by
    computation, that every evaluation of a network with given weights decides by the rules.

    The relations say what an evaluation may do: every sum in any order, as [dot] has it; every
    layer evaluated anew where it is used twice; messages joined by their maximum. *)
From Coq Require Import ZArith List Lia Bool Reals Psatz.
From Flocq Require Import Core BinarySingleNaN.
From Augury Require Import Rules Rounding Evaluation.
Import ListNotations.
Open Scope R_scope.

(** ** Layers *)

Definition layer (W : list (list float)) (B xs zs : list float) : Prop :=
  Forall2 (fun wb z => dot (Plain (snd wb) :: products (fst wb) xs) z) (combine W B) zs.

Definition active (W : list (list float)) (B xs zs : list float) : Prop :=
  exists pre, layer W B xs pre /\ Forall2 leaky pre zs.

Definition layer_of (rows : list (list Z)) (biases : list Z) (xs : list approx) : list approx :=
  map (fun rb => linear_of (fst rb) (snd rb) xs) (combine rows biases).

Definition active_of (rows : list (list Z)) (biases : list Z) (xs : list approx) : list approx :=
  map leaky_of (layer_of rows biases xs).

Definition zero : float := B754_zero false.

(** A layer without bias: adding 0 is exact. *)
Definition no_bias (W : list (list float)) : list float := map (fun _ => zero) W.
Definition no_bias_of (rows : list (list Z)) : list Z := map (fun _ => 0%Z) rows.

Definition weights (W : list (list float)) (rows : list (list Z)) : Prop :=
  Forall2 (Forall2 is_weight) W rows.

Lemma zero_is_weight : is_weight zero 0.
Proof. split; [reflexivity|]. simpl. ring. Qed.

Lemma no_bias_weights W rows : weights W rows ->
  Forall2 is_weight (no_bias W) (no_bias_of rows).
Proof. induction 1; simpl; constructor; auto using zero_is_weight. Qed.

Lemma layer_sound W rows B biases xs xas zs : weights W rows -> Forall2 is_weight B biases ->
  Forall2 near xs xas -> layer W B xs zs -> Forall2 near zs (layer_of rows biases xas).
Proof.
  intros HW. revert B biases zs. unfold layer, layer_of.
  induction HW as [|r row W rows Hr HW IH]; intros B biases zs HB Hx Hl.
  - simpl in *. inversion Hl. constructor.
  - destruct HB as [|b bias B biases Hb HB]; simpl in *.
    + inversion Hl. constructor.
    + inversion Hl; subst. constructor.
      * eapply linear_sound; eauto.
      * eapply IH; eauto.
Qed.

Lemma active_sound W rows B biases xs xas zs : weights W rows -> Forall2 is_weight B biases ->
  Forall2 near xs xas -> active W B xs zs -> Forall2 near zs (active_of rows biases xas).
Proof.
  intros HW HB Hx [pre [Hl Hz]]. unfold active_of.
  assert (Hp : Forall2 near pre (layer_of rows biases xas)) by (eapply layer_sound; eauto).
  revert zs Hz. clear - Hp. induction Hp; intros zs Hz; inversion Hz; subst; simpl; constructor; auto.
  now apply leaky_sound with x.
Qed.

(** ** Inputs *)

Definition bits_of (width n : nat) : list bool :=
  map (fun i => Nat.testbit n (width - 1 - i)) (seq 0 width).

Definition are_bits (xs : list float) (bits : list bool) : Prop :=
  Forall2 (fun (x : float) (b : bool) => is_finite x = true /\ B2R x = if b then 1 else 0) xs bits.

Definition bits_approx (bits : list bool) : list approx :=
  map (fun b : bool => Approx (if b then 2 ^ 36 else 0)%Z 0 true) bits.

Lemma bits_sound xs bits : are_bits xs bits -> Forall2 near xs (bits_approx bits).
Proof.
  induction 1 as [|x b xs bits [F E] _ IH]; simpl; constructor; [|assumption].
  intros _. cbn [middle error]. split; [assumption|]. rewrite E. destruct b.
  - rewrite Rmult_1_l, pow2_IZR by lia. rewrite Rminus_diag_eq by reflexivity. rewrite Rabs_R0. lra.
  - rewrite Rmult_0_l, Rminus_0_r, Rabs_R0. lra.
Qed.

(** ** A cell that hears a set of kinds *)

Record gathering (A : Type) := Gathering {
  own_w : list (list A); own_b : list A;
  kind_w : list (list A); kind_b : list A;
  message_own : list (list A);   (** the columns for the hearer *)
  message_kind : list (list A);  (** the columns for the message *)
  join_w : list (list A);
  head_w : list (list A); head_b : list A
}.
Arguments own_w {A}. Arguments own_b {A}. Arguments kind_w {A}. Arguments kind_b {A}.
Arguments message_own {A}. Arguments message_kind {A}. Arguments join_w {A}.
Arguments head_w {A}. Arguments head_b {A}.

Record gathers (G : gathering float) (g : gathering Z) : Prop := {
  of_own_w : weights (own_w G) (own_w g); of_own_b : Forall2 is_weight (own_b G) (own_b g);
  of_kind_w : weights (kind_w G) (kind_w g); of_kind_b : Forall2 is_weight (kind_b G) (kind_b g);
  of_message_own : weights (message_own G) (message_own g);
  of_message_kind : weights (message_kind G) (message_kind g);
  of_join_w : weights (join_w G) (join_w g);
  of_head_w : weights (head_w G) (head_w g); of_head_b : Forall2 is_weight (head_b G) (head_b g)
}.

(** What a message of a kind adds to its hearer's own part. *)
Definition sent (G : gathering float) (kind : list bool) (s : list float) : Prop :=
  exists bits y, are_bits bits kind /\ active (kind_w G) (kind_b G) bits y /\
    layer (message_kind G) (no_bias (message_kind G)) y s.

(** For each unit: the maximum over what is heard, added to the own part, and the leaky ReLU. *)
Definition received (own : list float) (heard : list (list float)) (zs : list float) : Prop :=
  length zs = length own /\ forall i, (i < length own)%nat -> exists m p,
    largest (map (fun s => nth i s zero) heard) m /\
    rounded (B2R (nth i own zero) + B2R m) p /\ leaky p (nth i zs zero).

(** [gathered G own kinds output z]: z may be the logit of an output. *)
Definition gathered (G : gathering float) (own : list bool) (kinds : list (list bool))
    (output : nat) (z : float) : Prop :=
  exists bits x1 x2 x3 o heard r j,
    are_bits bits own /\ active (own_w G) (own_b G) bits x1 /\
    active (own_w G) (own_b G) bits x2 /\ active (own_w G) (own_b G) bits x3 /\
    layer (message_own G) (no_bias (message_own G)) x1 o /\
    Forall2 (sent G) kinds heard /\ received o heard r /\
    active (join_w G) (no_bias (join_w G)) (x2 ++ r) j /\
    dot (Plain (nth output (head_b G) zero) :: products (nth output (head_w G) []) (x3 ++ j)) z.

Definition unsure : approx := Approx 0 0 false.

Definition encoded_of (g : gathering Z) (own : list bool) : list approx :=
  active_of (own_w g) (own_b g) (bits_approx own).

Definition sent_of (g : gathering Z) (kind : list bool) : list approx :=
  layer_of (message_kind g) (no_bias_of (message_kind g))
    (active_of (kind_w g) (kind_b g) (bits_approx kind)).

Definition own_part_of (g : gathering Z) (x : list approx) : list approx :=
  layer_of (message_own g) (no_bias_of (message_own g)) x.

Definition received_of (own : list approx) (heard : list (list approx)) : list approx :=
  map (fun i => leaky_of (add_of (nth i own unsure) (max_of (map (fun s => nth i s unsure) heard))))
    (seq 0 (length own)).

Definition joined_of (g : gathering Z) (x r : list approx) : list approx :=
  active_of (join_w g) (no_bias_of (join_w g)) (x ++ r).

Definition head_of (g : gathering Z) (output : nat) (x j : list approx) : approx :=
  linear_of (nth output (head_w g) []) (nth output (head_b g) 0%Z) (x ++ j).

Lemma near_unsure x : near x unsure.
Proof. discriminate. Qed.

Lemma near_nth xs xas i d : Forall2 near xs xas -> near (nth i xs d) (nth i xas unsure).
Proof.
  intros H. revert i. induction H; intros [|i]; simpl; auto; apply near_unsure.
Qed.

Lemma nth_weights W rows i : weights W rows -> Forall2 is_weight (nth i W []) (nth i rows []).
Proof. intros H. revert i. induction H; intros [|i]; simpl; auto. Qed.

Lemma nth_weight B biases i : Forall2 is_weight B biases ->
  is_weight (nth i B zero) (nth i biases 0%Z).
Proof. intros H. revert i. induction H; intros [|i]; simpl; auto using zero_is_weight. Qed.

Lemma near_by_index zs f : (forall i, (i < length zs)%nat -> near (nth i zs zero) (f i)) ->
  Forall2 near zs (map f (seq 0 (length zs))).
Proof.
  revert f. induction zs as [|z zs IH]; intros f H; simpl; constructor.
  - apply (H 0%nat). simpl. lia.
  - rewrite <- seq_shift, map_map. apply IH. intros i Hi. apply (H (Datatypes.S i)). simpl. lia.
Qed.

Lemma near_length xs xas : Forall2 near xs xas -> length xs = length xas.
Proof. induction 1; simpl; auto. Qed.

Lemma Forall2_app_near a b c d : Forall2 near a b -> Forall2 near c d ->
  Forall2 near (a ++ c) (b ++ d).
Proof. apply Forall2_app. Qed.

Lemma gathered_sound G g own kinds output z : gathers G g -> gathered G own kinds output z ->
  let x := encoded_of g own in
  let heard := map (sent_of g) kinds in
  near z (head_of g output x (joined_of g x (received_of (own_part_of g x) heard))).
Proof.
  intros R [bits [x1 [x2 [x3 [o [heard [r [j [Hb [H1 [H2 [H3 [Ho [Hs [Hr [Hj Hd]]]]]]]]]]]]]]]].
  cbv zeta. apply bits_sound in Hb.
  assert (X : forall xs, active (own_w G) (own_b G) bits xs -> Forall2 near xs (encoded_of g own)).
  { intros xs H. eapply active_sound; [apply R|apply R|exact Hb|exact H]. }
  assert (O : Forall2 near o (own_part_of g (encoded_of g own))).
  { eapply layer_sound; [apply R|apply no_bias_weights, R|apply X, H1|exact Ho]. }
  assert (S : Forall2 (Forall2 near) heard (map (sent_of g) kinds)).
  { clear - Hs R. induction Hs as [|k s kinds heard [bits [y [Hb [Hy Hl]]]] _ IH]; simpl; constructor;
      [|assumption].
    apply bits_sound in Hb. unfold sent_of.
    eapply layer_sound; [apply R|apply no_bias_weights, R| |exact Hl].
    eapply active_sound; [apply R|apply R|exact Hb|exact Hy]. }
  assert (Rv : Forall2 near r (received_of (own_part_of g (encoded_of g own)) (map (sent_of g) kinds))).
  { destruct Hr as [L H]. unfold received_of.
    rewrite <- (near_length _ _ O), <- L. apply near_by_index. intros i Hi. rewrite L in Hi.
    destruct (H i Hi) as [m [p [Hm [Hp Hz]]]].
    apply leaky_sound with p; [|assumption].
    apply add_sound with (nth i o zero) m; [now apply near_nth| |assumption].
    eapply max_sound; [|exact Hm]. clear - S. induction S; simpl; constructor; auto.
    now apply near_nth. }
  unfold head_of. eapply linear_sound; [apply nth_weights, R|apply nth_weight, R| |exact Hd].
  apply Forall2_app_near; [now apply X|].
  unfold joined_of. eapply active_sound; [apply R|apply no_bias_weights, R| |exact Hj].
  apply Forall2_app_near; [now apply X|assumption].
Qed.

(** A decision that no rounding changes. *)
Definition certain (a : approx) (expected : bool) : bool :=
  sure a && if expected then (error a <? middle a)%Z else (middle a <? - error a)%Z.

Definition decides (z : float) (expected : bool) : Prop :=
  is_finite z = true /\ (0 < B2R z <-> expected = true).

Lemma certain_decides z a expected : near z a -> certain a expected = true -> decides z expected.
Proof.
  unfold certain. intros N C. apply andb_true_iff in C. destruct C as [S C].
  destruct (N S) as [F E]. split; [assumption|]. apply Rabs_le_inv in E.
  assert (P : 0 < pow2 36) by apply bpow_gt_0. destruct expected; apply Z.ltb_lt in C.
  - apply IZR_lt in C. split; [auto|intros _]. apply Rmult_lt_reg_r with (pow2 36); lra.
  - apply IZR_lt in C. rewrite opp_IZR in C. split; [|discriminate]. intros Pos. exfalso.
    assert (0 < B2R z * pow2 36) by (apply Rmult_lt_0_compat; lra). lra.
Qed.

(** Kinds of two bits that are in a set. *)
Definition kinds_in (heard : nat) : list nat := filter (Nat.testbit heard) (seq 0 4).

(** All cases of a cell; what kinds and own bits share is computed once. *)
Definition gathering_check (g : gathering Z) (own_width outputs : nat)
    (occurs : nat -> nat -> bool) (expected : nat -> nat -> nat -> bool) : bool :=
  let sents := map (fun k => (k, sent_of g (bits_of 2 k))) (seq 0 4) in
  forallb (fun own =>
    let x := encoded_of g (bits_of own_width own) in
    let o := own_part_of g x in
    forallb (fun heard =>
      if occurs own heard then
        let messages := map snd (filter (fun ks => Nat.testbit heard (fst ks)) sents) in
        let j := joined_of g x (received_of o messages) in
        forallb (fun output => certain (head_of g output x j) (expected own heard output))
          (seq 0 outputs)
      else true) (seq 0 16)) (seq 0 (2 ^ own_width)).

Lemma filtered_messages (f : nat -> list approx) heard l :
  map snd (filter (fun ks => Nat.testbit heard (fst ks)) (map (fun k => (k, f k)) l))
  = map f (filter (Nat.testbit heard) l).
Proof.
  induction l as [|k l IH]; simpl; [reflexivity|].
  destruct (Nat.testbit heard k); simpl; now rewrite IH.
Qed.

Theorem gathering_checked G g own_width outputs occurs expected : gathers G g ->
  gathering_check g own_width outputs occurs expected = true ->
  forall own heard output z, (own < 2 ^ own_width)%nat -> (heard < 16)%nat ->
    occurs own heard = true -> (output < outputs)%nat ->
    gathered G (bits_of own_width own) (map (bits_of 2) (kinds_in heard)) output z ->
    decides z (expected own heard output).
Proof.
  intros R C own heard output z Ho Hh Oc Hout Hz. unfold gathering_check in C. cbv zeta in C.
  apply forallb_seq with (k := own) in C; [|assumption].
  apply forallb_seq with (k := heard) in C; [|assumption]. rewrite Oc in C.
  apply forallb_seq with (k := output) in C; [|assumption].
  rewrite filtered_messages in C.
  apply certain_decides with (2 := C). pose proof (gathered_sound _ _ _ _ _ _ R Hz) as S.
  cbv zeta in S. rewrite map_map in S. exact S.
Qed.

(** ** A cell without messages *)

Record point (A : Type) := Point {
  point_w : list (list A); point_b : list A; out_w : list (list A); out_b : list A
}.
Arguments point_w {A}. Arguments point_b {A}. Arguments out_w {A}. Arguments out_b {A}.

Record points (G : point float) (g : point Z) : Prop := {
  of_point_w : weights (point_w G) (point_w g); of_point_b : Forall2 is_weight (point_b G) (point_b g);
  of_out_w : weights (out_w G) (out_w g); of_out_b : Forall2 is_weight (out_b G) (out_b g)
}.

Definition pointed (G : point float) (own : list bool) (output : nat) (z : float) : Prop :=
  exists bits x, are_bits bits own /\ active (point_w G) (point_b G) bits x /\
    dot (Plain (nth output (out_b G) zero) :: products (nth output (out_w G) []) x) z.

Definition pointed_of (g : point Z) (own : list bool) (output : nat) : approx :=
  linear_of (nth output (out_w g) []) (nth output (out_b g) 0%Z)
    (active_of (point_w g) (point_b g) (bits_approx own)).

Definition point_check (g : point Z) (own_width outputs : nat) (expected : nat -> nat -> bool) : bool :=
  forallb (fun own => forallb (fun output =>
    certain (pointed_of g (bits_of own_width own) output) (expected own output))
    (seq 0 outputs)) (seq 0 (2 ^ own_width)).

Theorem point_checked G g own_width outputs expected : points G g ->
  point_check g own_width outputs expected = true ->
  forall own output z, (own < 2 ^ own_width)%nat -> (output < outputs)%nat ->
    pointed G (bits_of own_width own) output z -> decides z (expected own output).
Proof.
  intros R C own output z Ho Hout [bits [x [Hb [Hx Hd]]]].
  unfold point_check in C. apply forallb_seq with (k := own) in C; [|assumption].
  apply forallb_seq with (k := output) in C; [|assumption]. apply certain_decides with (2 := C).
  apply bits_sound in Hb. unfold pointed_of.
  eapply linear_sound; [apply nth_weights, R|apply nth_weight, R| |exact Hd].
  eapply active_sound; [apply R|apply R|exact Hb|exact Hx].
Qed.

(** ** A cell that chooses the best message *)

Record choosing (A : Type) := Choosing {
  link_w : list (list A); link_b : list A; hidden_w : list (list A);
  score_w : list A; score_b : A
}.
Arguments link_w {A}. Arguments link_b {A}. Arguments hidden_w {A}.
Arguments score_w {A}. Arguments score_b {A}.

Record chooses (G : choosing float) (g : choosing Z) : Prop := {
  of_link_w : weights (link_w G) (link_w g); of_link_b : Forall2 is_weight (link_b G) (link_b g);
  of_hidden_w : weights (hidden_w G) (hidden_w g);
  of_score_w : Forall2 is_weight (score_w G) (score_w g); of_score_b : is_weight (score_b G) (score_b g)
}.

Definition scored (G : choosing float) (kind : list bool) (z : float) : Prop :=
  exists bits y h, are_bits bits kind /\ active (link_w G) (link_b G) bits y /\
    active (hidden_w G) (no_bias (hidden_w G)) y h /\
    dot (Plain (score_b G) :: products (score_w G) h) z.

Definition scored_of (g : choosing Z) (kind : list bool) : approx :=
  linear_of (score_w g) (score_b g)
    (active_of (hidden_w g) (no_bias_of (hidden_w g))
      (active_of (link_w g) (link_b g) (bits_approx kind))).

Lemma scored_sound G g kind z : chooses G g -> scored G kind z -> near z (scored_of g kind).
Proof.
  intros R [bits [y [h [Hb [Hy [Hh Hd]]]]]]. apply bits_sound in Hb. unfold scored_of.
  eapply linear_sound; [apply R|apply R| |exact Hd].
  eapply active_sound; [apply R|apply no_bias_weights, R| |exact Hh].
  eapply active_sound; [apply R|apply R|exact Hb|exact Hy].
Qed.

Definition surely_above (a b : approx) : bool :=
  sure a && sure b && (middle b + error b <? middle a - error a)%Z.

Definition choosing_check (g : choosing Z) (width : nat) (wins : nat -> nat -> bool) : bool :=
  let scores := map (fun k => (k, scored_of g (bits_of width k))) (seq 0 (2 ^ width)) in
  forallb (fun a => forallb (fun b =>
    if wins (fst a) (fst b) then surely_above (snd a) (snd b) else true) scores) scores.

Theorem choosing_checked G g width wins : chooses G g -> choosing_check g width wins = true ->
  forall a b za zb, (a < 2 ^ width)%nat -> (b < 2 ^ width)%nat -> wins a b = true ->
    scored G (bits_of width a) za -> scored G (bits_of width b) zb ->
    is_finite za = true /\ is_finite zb = true /\ B2R zb < B2R za.
Proof.
  intros R C a b za zb Ha Hb Hw Sa Sb. unfold choosing_check in C. cbv zeta in C.
  assert (I : forall k, (k < 2 ^ width)%nat -> In (k, scored_of g (bits_of width k))
    (map (fun k => (k, scored_of g (bits_of width k))) (seq 0 (2 ^ width)))).
  { intros k K. apply in_map_iff. exists k. split; [reflexivity|]. apply in_seq. lia. }
  rewrite forallb_forall in C. specialize (C _ (I a Ha)). rewrite forallb_forall in C.
  specialize (C _ (I b Hb)). cbn [fst snd] in C. rewrite Hw in C.
  unfold surely_above in C. apply andb_true_iff in C. destruct C as [C Lt].
  apply andb_true_iff in C. destruct C as [Ca Cb]. apply Z.ltb_lt, IZR_lt in Lt.
  rewrite plus_IZR, minus_IZR in Lt.
  destruct (scored_sound _ _ _ _ R Sa Ca) as [Fa Ea].
  destruct (scored_sound _ _ _ _ R Sb Cb) as [Fb Eb].
  apply Rabs_le_inv in Ea, Eb. repeat split; auto.
  apply Rmult_lt_reg_r with (pow2 36); [apply bpow_gt_0|]. lra.
Qed.
